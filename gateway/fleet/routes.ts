/** `/api/devices`: lists, describes, names and forgets devices; `/api/crashes`; `/api/refusals`: what was refused lately. */

import { type RequestHandler, Router } from "express";
import { integer, matches } from "../../device/protocol/schema.js";
import { askedSeen } from "../api/attention.js";
import type { DeviceDetails, ListedRefusal, OwnUpdate, PastCrash, PastMark } from "../api/device.js";
import { labelChange } from "../api/label.js";
import type { UpdateJob } from "../firmware/update-job.js";
import { sendList } from "../http/list.js";
import { readJson, readQuery } from "../http/request-body.js";
import { HttpProblem, refuseMethod } from "../problem.js";
import type { Device } from "../sessions/device.js";
import { deviceHead, isoTime, textWithState } from "../sessions/view.js";
import type { Storage } from "../storage/records.js";
import { isAhead } from "../storage/time.js";
import type { Attentions } from "./attention.js";
import type { CrashCauses } from "./crash-causes.js";
import type { CrashHead, CrashStore, StoredCrash } from "./crash-store.js";
import { type Histories, historyMs } from "./history.js";
import type { Labels } from "./labels.js";
import type { FleetCore } from "./limits.js";
import type { Refusals } from "./refusals.js";

export interface FleetRoutesOptions {
	readonly core: FleetCore;
	readonly crashes: CrashStore;
	readonly causes: Pick<CrashCauses, "list" | "see">;
	readonly labels: Labels;
	readonly refusals: Pick<Refusals, "list" | "see">;
	readonly attentions: Pick<Attentions, "of" | "see">;
	readonly histories: Pick<Histories, "of">;
}

const awayDays = integer(1, 3650);
const seenExample = '{"items":[{"kind":"crashed","id":"dev-1-a1b2c3","since":"2026-11-20T12:00:00.000Z"}]}';
/** Of `seenAtMost` items. */
const maxSeenBytes = 2 * 1024 * 1024;
/** Each waits for the disk several times. */
const forgottenAtOnce = 16;
const dayMs = 24 * 60 * 60 * 1000;

interface OfDevice {
	readonly deviceId: string;
}

export function fleetRoutes(options: FleetRoutesOptions): Router {
	const { requirePerson } = options.core;
	const devices = new DeviceHandlers(options);
	const router = Router({ caseSensitive: true, strict: true });
	router
		.route("/api/devices")
		.get(requirePerson, devices.list)
		.delete(requirePerson, devices.forgetAway)
		.all(refuseMethod("GET, HEAD, DELETE"));
	router
		.route("/api/devices/:deviceId")
		.get(requirePerson, devices.show)
		.patch(requirePerson, devices.label)
		.delete(requirePerson, devices.forget)
		.all(refuseMethod("GET, HEAD, PATCH, DELETE"));
	router
		.route("/api/devices/:deviceId/history")
		.get(requirePerson, devices.history)
		.all(refuseMethod("GET, HEAD"));
	router.route("/api/refusals").get(requirePerson, listRefusals(options)).all(refuseMethod("GET, HEAD"));
	router
		.route("/api/crashes")
		.get(requirePerson, async (_request, response) => {
			response.set("Cache-Control", "no-store").json(await options.causes.list());
		})
		.all(refuseMethod("GET, HEAD"));
	router.route("/api/attention/seen").post(requirePerson, markSeen(options)).all(refuseMethod("POST"));
	return router;
}

class DeviceHandlers {
	readonly #options: FleetRoutesOptions;

	constructor(options: FleetRoutesOptions) {
		this.#options = options;
	}

	readonly list: RequestHandler = (_request, response) => {
		const { sessions, yieldToLoop } = this.#options.core;
		const textOf = (device: Device) => JSON.stringify(this.#headOf(device));
		return sendList(response, "devices", [...sessions.devices.values()], textOf, yieldToLoop);
	};

	readonly forgetAway: RequestHandler = async (request, response) => {
		const { sessions, monitors, now, monotonic, limits } = this.#options.core;
		const days = Number(readQuery(request, "awayDays"));
		if (!matches(awayDays, days))
			throw new HttpProblem(
				422,
				"Say how long they must be away, in days from 1 to 3650, such as ?awayDays=30.",
			);
		const isAway = ({ session }: Device) => !session.connected && session.lastSeenAt < now() - days * dayMs;
		const away = [...sessions.devices.values()].filter(isAway);
		const until = monotonic() + limits.forgetMs;
		let forgotten = 0;
		let kept = 0;
		do {
			const batch = away.splice(0, forgottenAtOnce).filter(isAway);
			const erased = await Promise.all(
				batch.map(async (device) => (await this.#erase(device)) && sessions.forget(device)),
			);
			forgotten += erased.filter((isGone) => isGone).length;
			kept += erased.filter((isGone) => !isGone).length;
		} while (away.length > 0 && monotonic() < until);
		if (forgotten > 0) monitors.announceAll();
		response.json({ forgotten, kept, left: away.length });
	};

	readonly show: RequestHandler<OfDevice> = async ({ params }, response) => {
		const { core, crashes } = this.#options;
		const device = this.#known(params);
		await core.peers.gather([device.deviceId]);
		const before = core.services().replacements?.before(device.deviceId);
		const history = await historyOf(device, core, crashes);
		const details = { ...this.#headOf(device), ...history, ...(before && { before }) };
		response.set("Cache-Control", "no-store").type("json").send(textWithState(details, device));
	};

	readonly label: RequestHandler<OfDevice> = async (request, response) => {
		const { core, labels } = this.#options;
		const change = await readJson(request, labelChange, '{"name":"Lobby speaker"}');
		const device = this.#known(request.params);
		if (!(await labels.set(device, change))) throw notWritten(core.storage);
		response.json(this.#headOf(device));
	};

	readonly forget: RequestHandler<OfDevice> = async ({ params }, response) => {
		const { sessions, monitors, storage } = this.#options.core;
		const device = this.#known(params);
		const { deviceId } = device;
		const isGone = !device.session.connected && (await this.#erase(device));
		if (!isGone && !device.session.connected)
			throw new HttpProblem(
				storage.status,
				`${deviceId} could not be removed from ${storage.place} and stays; the log says why.`,
			);
		if (!sessions.forget(device))
			throw new HttpProblem(
				409,
				`${deviceId} is connected and would be known again at once; forget it while it is away.`,
			);
		monitors.announceAll();
		response.status(204).end();
	};

	readonly history: RequestHandler<OfDevice> = async ({ params }, response) => {
		const { core, crashes, histories } = this.#options;
		const device = this.#known(params);
		const columns = await histories.of(device);
		const updates = core.firmware.updates.historyOf(device.deviceId);
		const marks = marksOf(device, crashes.headsOf(device), updates)
			.filter(({ at }) => at >= core.now() - historyMs && !isAhead(at, core.now()))
			.sort((a, b) => a.at - b.at)
			.map(withTime);
		const text = `${columns.slice(0, -1)},"marks":${JSON.stringify(marks)}}`;
		response.set("Cache-Control", "no-store").type("json").send(text);
	};

	/** @throws {HttpProblem} 404 */
	#known({ deviceId }: OfDevice): Device {
		const device = this.#options.core.sessions.devices.get(deviceId);
		if (device) return device;
		throw new HttpProblem(404, `No device is called ${deviceId}; see /api/devices.`);
	}

	#headOf(device: Device) {
		return { ...deviceHead(device), ...this.#options.attentions.of(device) };
	}

	async #erase(device: Device): Promise<boolean> {
		const { core, crashes, labels } = this.#options;
		const { deviceStore, firmware } = core;
		// Last, as they alone are not in memory and cannot be put back. The device may have connected meanwhile.
		const removeCrashes = async () => (await crashes.forget(device)) && !device.session.connected;
		const isGone =
			(await deviceStore.forget(device)) &&
			(await labels.forget(device)) &&
			(await firmware.updates.forget(device.deviceId, removeCrashes));
		if (!isGone) {
			void deviceStore.keep(device);
			void labels.keep(device);
		}
		return isGone;
	}
}

/** What has happened to a device, as `GET /api/devices/<id>` says it. */
export async function historyOf(
	device: Device,
	{ firmware }: Pick<FleetCore, "firmware">,
	crashes: CrashStore,
) {
	const stored = await crashes.of(device);
	return {
		settingsKeptAt: device.settingsKeptAt > 0 ? isoTime(device.settingsKeptAt) : null,
		versions: device.versions.map(withTime),
		resets: device.resets.map(withTime),
		updates: firmware.updates.historyOf(device.deviceId).map(describeUpdate),
		crashes: stored.map(describeCrash),
	} satisfies Omit<DeviceDetails, "firstSeenAt" | "before">;
}

function listRefusals({ core, refusals }: FleetRoutesOptions): RequestHandler {
	return (_request, response) => {
		const listed = refusals.list().map(({ deviceId = null, firstAt, lastAt, ...rest }) => {
			const times = { firstAt: isoTime(firstAt), lastAt: isoTime(lastAt) };
			const replacedBy = core.services().replacements?.replacementOf(deviceId ?? "");
			return { deviceId, ...rest, ...times, ...(replacedBy && { replacedBy }) } satisfies ListedRefusal;
		});
		response.set("Cache-Control", "no-store").json({ refusals: listed });
	};
}

function markSeen({ core, refusals, attentions, causes }: FleetRoutesOptions): RequestHandler {
	return async (request, response) => {
		const { items } = await readJson(request, askedSeen, seenExample, maxSeenBytes);
		for (const { kind, id, since } of items)
			if (kind === "refused") refusals.see(id, since ? Date.parse(since) : 0);
		const kept = await Promise.all([attentions.see(items), causes.see(items)]);
		if (kept.includes(false)) throw notWritten(core.storage);
		response.status(204).end();
	};
}

function notWritten({ place, status }: Storage): HttpProblem {
	return new HttpProblem(
		status,
		`This could not be written to ${place} yet: it is tried again every second; the log says why.`,
	);
}

/** @returns marks whose `at` is in milliseconds since 1970 */
function marksOf(
	{ resets }: Device,
	crashes: readonly CrashHead[],
	jobs: readonly UpdateJob[],
): readonly (Omit<PastMark, "at"> & { readonly at: number })[] {
	return [
		...resets.map(({ at, reason }) => ({ at, kind: "restart" as const, reason, version: null })),
		...crashes.map(({ at, kind, version }) => ({
			at,
			kind: "crash" as const,
			reason: kind,
			version: version || null,
		})),
		...jobs.map(({ startedAt, endedAt = startedAt, status, version = null }) => ({
			at: endedAt,
			kind: "update" as const,
			reason: status,
			version,
		})),
	];
}

function describeUpdate({ startedAt, endedAt, ...job }: UpdateJob): OwnUpdate {
	const { status, percent = null, version = null, from = null, reason = null } = job;
	const times = { startedAt: isoTime(startedAt), endedAt: endedAt === undefined ? null : isoTime(endedAt) };
	return { status, percent, version, from, reason, ...times };
}

function describeCrash({ firmware_version: version, uptime_seconds, at, ...crash }: StoredCrash): PastCrash {
	const { id, kind, message, file = null, line = null, stack, trace } = crash;
	const where = { file, line, stack, version: version || null, uptimeSeconds: uptime_seconds };
	return { id, kind, message, ...where, trace, at: isoTime(at) };
}

function withTime<T extends { readonly at: number }>(entry: T) {
	return { ...entry, at: isoTime(entry.at) };
}

/** `/api/devices`: lists, describes, names and forgets devices; `/api/refusals`: what was refused lately. */

import { type Response, Router } from "express";
import { integer, matches } from "../../device/protocol/schema.js";
import { askedSeen } from "../api/attention.js";
import type { DeviceDetails, ListedRefusal, OwnUpdate, PastCrash, PastMark } from "../api/device.js";
import { label } from "../api/label.js";
import type { UpdateJob } from "../firmware/update-job.js";
import { sendList } from "../http/list.js";
import { readJson, readQuery } from "../http/request-body.js";
import { HttpProblem, refuseMethod, sendProblem } from "../problem.js";
import type { Device } from "../sessions/device.js";
import { deviceHead, isoTime, textWithState } from "../sessions/view.js";
import { isAhead } from "../storage/time.js";
import type { Attentions } from "./attention.js";
import type { CrashHead, CrashStore, StoredCrash } from "./crash-store.js";
import { type Histories, historyMs } from "./history.js";
import type { FleetCore } from "./limits.js";
import type { Refusals } from "./refusals.js";

export interface FleetRoutesOptions {
	readonly core: FleetCore;
	readonly crashes: CrashStore;
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

export function fleetRoutes({ core, crashes, refusals, histories, attentions }: FleetRoutesOptions): Router {
	const { sessions, deviceStore, requirePerson, monitors, storage, now, monotonic, limits, yieldToLoop } =
		core;
	const { updates } = core.firmware;
	const router = Router({ caseSensitive: true, strict: true });

	const headOf = (device: Device) => ({ ...deviceHead(device), ...attentions.of(device) });

	const erase = async (device: Device) => {
		// Last, as they alone are not in memory and cannot be put back. The device may have connected meanwhile.
		const removeCrashes = async () => (await crashes.forget(device)) && !device.session.connected;
		const isGone =
			(await deviceStore.forget(device)) && (await updates.forget(device.deviceId, removeCrashes));
		if (!isGone) {
			void deviceStore.keep(device);
			void deviceStore.keepLabel(device);
		}
		return isGone;
	};

	router
		.route("/api/devices")
		.get(requirePerson, (_request, response) => {
			const textOf = (device: Device) => JSON.stringify(headOf(device));
			return sendList(response, "devices", [...sessions.devices.values()], textOf, yieldToLoop);
		})
		.delete(requirePerson, async (request, response) => {
			const days = Number(readQuery(request, "awayDays"));
			if (!matches(awayDays, days)) {
				const detail = "Say how long they must be away, in days from 1 to 3650, such as ?awayDays=30.";
				return sendProblem(response, { status: 422, detail });
			}
			const isAway = ({ session }: Device) => !session.connected && session.lastSeenAt < now() - days * dayMs;
			const away = [...sessions.devices.values()].filter(isAway);
			const until = monotonic() + limits.forgetMs;
			let forgotten = 0;
			let kept = 0;
			do {
				const batch = away.splice(0, forgottenAtOnce).filter(isAway);
				const erased = await Promise.all(
					batch.map(async (device) => (await erase(device)) && sessions.forget(device)),
				);
				forgotten += erased.filter((isGone) => isGone).length;
				kept += erased.filter((isGone) => !isGone).length;
			} while (away.length > 0 && monotonic() < until);
			if (forgotten > 0) monitors.announceAll();
			response.json({ forgotten, kept, left: away.length });
		})
		.all(refuseMethod("GET, HEAD, DELETE"));

	router
		.route("/api/devices/:deviceId")
		.get(requirePerson, async ({ params: { deviceId } }, response) => {
			const device = sessions.devices.get(deviceId);
			if (!device) return sendUnknown(response, deviceId);
			await core.peers.gather([deviceId]);
			const stored = await crashes.of(device);
			const details = {
				...headOf(device),
				settingsKeptAt: device.settingsKeptAt > 0 ? isoTime(device.settingsKeptAt) : null,
				versions: device.versions.map(withTime),
				resets: device.resets.map(withTime),
				updates: updates.historyOf(deviceId).map(describeUpdate),
				crashes: stored.map(describeCrash),
			} satisfies Omit<DeviceDetails, "firstSeenAt">;
			response.set("Cache-Control", "no-store").type("json").send(textWithState(details, device));
		})
		.patch(requirePerson, async (request, response) => {
			const change = await readJson(request, label, '{"name":"Lobby speaker"}');
			const { deviceId } = request.params;
			const device = sessions.devices.get(deviceId);
			if (!device) return sendUnknown(response, deviceId);
			sessions.setLabel(device, change);
			if (!(await deviceStore.keepLabel(device))) {
				const detail = `This could not be written to ${storage.place} yet: it is tried again every second; the log says why.`;
				return sendProblem(response, { status: storage.status, detail });
			}
			response.json(headOf(device));
		})
		.delete(requirePerson, async ({ params: { deviceId } }, response) => {
			const device = sessions.devices.get(deviceId);
			if (!device) return sendUnknown(response, deviceId);
			const isGone = !device.session.connected && (await erase(device));
			if (!isGone && !device.session.connected) {
				const detail = `${deviceId} could not be removed from ${storage.place} and stays; the log says why.`;
				return sendProblem(response, { status: storage.status, detail });
			}
			if (!sessions.forget(device)) {
				const detail = `${deviceId} is connected and would be known again at once; forget it while it is away.`;
				return sendProblem(response, { status: 409, detail });
			}
			monitors.announceAll();
			response.status(204).end();
		})
		.all(refuseMethod("GET, HEAD, PATCH, DELETE"));

	router
		.route("/api/devices/:deviceId/history")
		.get(requirePerson, async ({ params: { deviceId } }, response) => {
			const device = sessions.devices.get(deviceId);
			if (!device) return sendUnknown(response, deviceId);
			const columns = await histories.of(device);
			const marks = marksOf(device, crashes.headsOf(device), updates.historyOf(deviceId))
				.filter(({ at }) => at >= now() - historyMs && !isAhead(at, now()))
				.sort((a, b) => a.at - b.at)
				.map(withTime);
			const text = `${columns.slice(0, -1)},"marks":${JSON.stringify(marks)}}`;
			response.set("Cache-Control", "no-store").type("json").send(text);
		})
		.all(refuseMethod("GET, HEAD"));

	router
		.route("/api/refusals")
		.get(requirePerson, (_request, response) => {
			const listed = refusals.list().map(({ deviceId = null, firstAt, lastAt, ...rest }) => {
				return {
					deviceId,
					...rest,
					firstAt: isoTime(firstAt),
					lastAt: isoTime(lastAt),
				} satisfies ListedRefusal;
			});
			response.set("Cache-Control", "no-store").json({ refusals: listed });
		})
		.all(refuseMethod("GET, HEAD"));

	router
		.route("/api/attention/seen")
		.post(requirePerson, async (request, response) => {
			const { items } = await readJson(request, askedSeen, seenExample, maxSeenBytes);
			for (const { kind, id, since } of items)
				if (kind === "refused") refusals.see(id, since ? Date.parse(since) : 0);
			if (!(await attentions.see(items)))
				throw new HttpProblem(
					storage.status,
					`This could not be written to ${storage.place} yet: it is tried again every second; the log says why.`,
				);
			response.status(204).end();
		})
		.all(refuseMethod("POST"));

	return router;
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

function describeUpdate({
	status,
	percent,
	version,
	from,
	reason,
	startedAt,
	endedAt,
}: UpdateJob): OwnUpdate {
	return {
		status,
		percent: percent ?? null,
		version: version ?? null,
		from: from ?? null,
		reason: reason ?? null,
		startedAt: isoTime(startedAt),
		endedAt: endedAt === undefined ? null : isoTime(endedAt),
	};
}

function describeCrash(crash: StoredCrash): PastCrash {
	const { id, kind, message, file, line, stack, firmware_version, uptime_seconds, trace, at } = crash;
	return {
		id,
		kind,
		message,
		file: file ?? null,
		line: line ?? null,
		stack,
		version: firmware_version || null,
		uptimeSeconds: uptime_seconds,
		trace,
		at: isoTime(at),
	};
}

function withTime<T extends { readonly at: number }>(entry: T) {
	return { ...entry, at: isoTime(entry.at) };
}

function sendUnknown(response: Response, deviceId: string): void {
	sendProblem(response, { status: 404, detail: `No device is called ${deviceId}; see /api/devices.` });
}

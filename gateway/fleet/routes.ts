/** Serves `/api/devices` (list, details, labels, removal), `/api/crashes`, and recent rejections at `/api/rejections`. */

import { crashRoutes } from "../api/crash-causes.js";
import {
	type DeviceHistory,
	deviceRoutes,
	type ListedRejection,
	type OwnUpdate,
	type PastCrash,
	type PastMark,
} from "../api/device.js";
import { issueRoutes } from "../api/issues.js";
import { isAhead } from "../api/time.js";
import type { UpdateJob } from "../firmware/update-job.js";
import { sendList } from "../http/list.js";
import { recordChange } from "../http/request-body.js";
import { type Route, serve, streamed } from "../http/routes.js";
import { RequestError } from "../problem.js";
import type { Device } from "../sessions/device.js";
import { deviceHead, isoTime, textWithState } from "../sessions/view.js";
import type { Storage } from "../storage/records.js";
import type { CrashCauses } from "./crash-causes.js";
import { listCrashes } from "./crash-list.js";
import type { CrashHead, CrashStore, StoredCrash } from "./crash-store.js";
import { type Histories, historyMs } from "./history.js";
import type { Issues } from "./issues.js";
import type { Labels } from "./labels.js";
import type { FleetCore } from "./limits.js";
import type { CountedRejection, Rejections } from "./rejections.js";

export interface FleetRoutesOptions {
	readonly core: FleetCore;
	readonly crashes: CrashStore;
	readonly causes: Pick<CrashCauses, "known" | "see">;
	readonly labels: Labels;
	readonly rejections: Pick<Rejections, "list" | "see">;
	readonly issues: Pick<Issues, "of" | "see">;
	readonly histories: Pick<Histories, "of">;
}

/** Limit of concurrent removals, each of which waits for the disk several times. */
const forgottenAtOnce = 16;
const dayMs = 24 * 60 * 60 * 1000;

export function createFleetRoutes(options: FleetRoutesOptions): readonly Route[] {
	const { core, crashes, causes, labels, rejections, issues, histories } = options;
	const { sessions, monitors, storage, now, monotonic, limits, deviceStore, firmware } = core;

	const headOf = (device: Device) => ({ ...deviceHead(device), ...issues.of(device) });

	const erase = async (device: Device): Promise<boolean> => {
		// Crashes are removed last: they are only on disk and cannot be restored if the device connects meanwhile.
		const removeCrashes = async () => (await crashes.forget(device)) && !device.session.connected;
		const isGone =
			(await deviceStore.forget(device)) &&
			(await labels.forget(device)) &&
			(await firmware.updates.forget(device.deviceId, removeCrashes));
		if (!isGone) {
			void deviceStore.save(device);
			void labels.keep(device);
		}
		return isGone;
	};

	const devices = serve(deviceRoutes, {
		"GET /api/rejections": () => ({
			rejections: rejections.list().map((rejection) => describeRejection(rejection, core)),
		}),
		"GET /api/devices": async ({ response }) => {
			const textOf = (device: Device) => JSON.stringify(headOf(device));
			await sendList(response, "devices", [...sessions.devices.values()], textOf, core.yieldToLoop);
			return streamed;
		},
		"DELETE /api/devices": async ({ query: { awayDays } }) => {
			const isAway = ({ session }: Device) =>
				!session.connected && session.lastSeenAt < now() - awayDays * dayMs;
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
			if (forgotten > 0) monitors.sendSnapshots();
			return { forgotten, kept, left: away.length };
		},
		"GET /api/devices/:deviceId": async ({ params: { deviceId }, response }) => {
			const device = sessions.require(deviceId);
			await core.peers.fetchReports([deviceId]);
			const before = core.services.boardReplacements?.before(deviceId);
			const history = await historyOf(device, core, crashes);
			const details = { ...headOf(device), ...history, ...(before && { before }) };
			response.set("Cache-Control", "no-store").type("json").send(textWithState(details, device));
			return streamed;
		},
		"PATCH /api/devices/:deviceId": async ({ request, params, body }) => {
			const device = sessions.require(params.deviceId);
			const before = Object.entries(device.label).filter(([field]) => Object.hasOwn(body, field));
			recordChange(request, { before: Object.fromEntries(before) });
			if (!(await labels.set(device, body))) throw notWritten(storage);
			return headOf(device);
		},
		"DELETE /api/devices/:deviceId": async ({ params: { deviceId } }) => {
			const device = sessions.require(deviceId);
			const isGone = !device.session.connected && (await erase(device));
			if (!isGone && !device.session.connected)
				throw new RequestError(
					storage.status,
					`Removing ${deviceId} from ${storage.place} failed. The log has the reason.`,
				);
			if (!sessions.forget(device))
				throw new RequestError(409, `${deviceId} is connected. Remove it while it is offline.`);
			monitors.sendSnapshots();
		},
		"GET /api/devices/:deviceId/history": async ({ params, response }) => {
			const device = sessions.require(params.deviceId);
			const columns = await histories.of(device);
			const updates = firmware.updates.historyOf(device.deviceId);
			const marks = marksOf(device, crashes.headsOf(device), updates)
				.filter(({ at }) => at >= now() - historyMs && !isAhead(at, now()))
				.sort((a, b) => a.at - b.at)
				.map(withTime);
			const text = `${columns.slice(0, -1)},"marks":${JSON.stringify(marks)}}`;
			response.set("Cache-Control", "no-store").type("json").send(text);
			return streamed;
		},
	});
	return [
		...devices,
		...serve(crashRoutes, { "GET /api/crashes": () => listCrashes(causes.known, crashes, core) }),
		...serve(issueRoutes, {
			"POST /api/issues/seen": async ({ body: { items } }) => {
				for (const { kind, id, since } of items)
					if (kind === "rejected") rejections.see(id, since ? Date.parse(since) : 0);
				const kept = await Promise.all([issues.see(items), causes.see(items)]);
				if (kept.includes(false)) throw notWritten(storage);
			},
		}),
	];
}

/** Returns the history of a device for `GET /api/devices/<id>`. */
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
	} satisfies DeviceHistory;
}

function describeRejection(
	{ deviceId, firstAt, lastAt, ...rest }: CountedRejection,
	core: FleetCore,
): ListedRejection {
	const times = { firstAt: isoTime(firstAt), lastAt: isoTime(lastAt) };
	const replacedBy = core.services.boardReplacements?.replacementOf(deviceId ?? "");
	return { ...rest, ...times, deviceId: deviceId ?? null, ...(replacedBy && { replacedBy }) };
}

function notWritten({ place, status }: Storage): RequestError {
	return new RequestError(
		status,
		`Writing to ${place} failed. It is retried every second. The log has the reason.`,
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

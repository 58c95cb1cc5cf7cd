/** `/api/devices`: lists, describes, names and forgets devices. */

import { type RequestHandler, type Response, Router } from "express";
import { integer, matches } from "../device/protocol/schema.js";
import type { Cluster } from "./cluster/cluster.js";
import type { UpdateJob } from "./firmware/update-job.js";
import type { Updates } from "./firmware/updates.js";
import { refuseMethod, sendProblem } from "./problem.js";
import { readJson } from "./request-body.js";
import type { CrashStore, StoredCrash } from "./sessions/crash-store.js";
import { type Device, label } from "./sessions/device.js";
import { historyMs } from "./sessions/history.js";
import type { Sessions } from "./sessions/sessions.js";
import { deviceHead, isoTime, textWithState } from "./sessions/view.js";

export interface DeviceRoutesOptions {
	readonly sessions: Sessions;
	readonly updates: Pick<Updates, "historyOf">;
	readonly crashes: Pick<CrashStore, "of">;
	readonly requireMonitor: RequestHandler;
	/** Writes a device to disk. Resolves to false if that failed; it is tried again. */
	readonly keep: (device: Device) => Promise<boolean>;
	/** Removes a device from disk. Resolves to false if that failed and all of it stays. */
	readonly erase: (device: Device) => Promise<boolean>;
	/** Undefined where this gateway is alone. */
	readonly cluster?: Pick<Cluster, "gather" | "requests"> | undefined;
	/** Called after devices were forgotten on request. */
	readonly onForgotten: () => void;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Monotonic clock, in milliseconds. */
	readonly monotonic: () => number;
}

const awayDays = integer(1, 3650);
const dayMs = 24 * 60 * 60 * 1000;

export function deviceRoutes(options: DeviceRoutesOptions): Router {
	const { sessions, updates, crashes, requireMonitor, keep, erase, cluster, onForgotten, now } = options;
	const { monotonic } = options;
	const router = Router({ caseSensitive: true, strict: true });

	router
		.route("/api/devices")
		.get(requireMonitor, (_request, response) => {
			const devices = Array.from(sessions.devices.values(), deviceHead);
			response.set("Cache-Control", "no-store").json({ devices });
		})
		.delete(requireMonitor, async ({ query }, response) => {
			const days = Number(query.awayDays);
			if (!matches(awayDays, days)) {
				const detail = "Say how long they must be away, in days from 1 to 3650, such as ?awayDays=30.";
				return sendProblem(response, { status: 422, detail });
			}
			let forgotten = 0;
			let kept = 0;
			for (const device of [...sessions.devices.values()]) {
				const { connected, lastSeenAt } = device.session;
				if (connected || lastSeenAt >= now() - days * dayMs) continue;
				if ((await erase(device)) && sessions.forget(device)) forgotten += 1;
				else kept += 1;
			}
			if (forgotten > 0) onForgotten();
			response.json({ forgotten, kept });
		})
		.all(refuseMethod("GET, HEAD, DELETE"));

	router
		.route("/api/devices/:deviceId")
		.get(requireMonitor, async ({ params: { deviceId } }, response) => {
			const device = sessions.devices.get(deviceId);
			if (!device) return sendUnknown(response, deviceId);
			await cluster?.gather([deviceId]);
			const stored = await crashes.of(device);
			const details = {
				...deviceHead(device),
				versions: device.versions.map(withTime),
				resets: device.resets.map(withTime),
				updates: updates.historyOf(deviceId).map(describeUpdate),
				crashes: stored.map(describeCrash),
			};
			response.set("Cache-Control", "no-store").type("json").send(textWithState(details, device));
		})
		.patch(requireMonitor, async (request, response) => {
			const change = await readJson(request, label, '{"name":"Lobby speaker"}');
			const { deviceId } = request.params;
			const device = sessions.devices.get(deviceId);
			if (!device) return sendUnknown(response, deviceId);
			sessions.setLabel(device, change);
			if (!(await keep(device))) {
				const detail = `This is not on the gateway's disk yet: it is tried again every second; the log says why.`;
				return sendProblem(response, { status: 507, detail });
			}
			response.json(deviceHead(device));
		})
		.delete(requireMonitor, async ({ params: { deviceId } }, response) => {
			const device = sessions.devices.get(deviceId);
			if (!device) return sendUnknown(response, deviceId);
			const isGone = !device.session.connected && (await erase(device));
			if (!isGone && !device.session.connected) {
				const detail = `${deviceId} could not be removed from the gateway's disk and stays; the log says why.`;
				return sendProblem(response, { status: 507, detail });
			}
			if (!sessions.forget(device)) {
				const detail = `${deviceId} is connected and would be known again at once; forget it while it is away.`;
				return sendProblem(response, { status: 409, detail });
			}
			onForgotten();
			response.status(204).end();
		})
		.all(refuseMethod("GET, HEAD, PATCH, DELETE"));

	router
		.route("/api/devices/:deviceId/history")
		.get(requireMonitor, async ({ params: { deviceId } }, response) => {
			const device = sessions.devices.get(deviceId);
			if (!device) return sendUnknown(response, deviceId);
			const columns = (await cluster?.requests.history(device)) ?? historyText(device, now(), monotonic());
			const marks = marksOf(device, updates.historyOf(deviceId))
				.filter(({ at }) => at >= now() - historyMs)
				.sort((a, b) => a.at - b.at)
				.map(withTime);
			const text = `${columns.slice(0, -1)},"marks":${JSON.stringify(marks)}}`;
			response.set("Cache-Control", "no-store").type("json").send(text);
		})
		.all(refuseMethod("GET, HEAD"));

	return router;
}

/** @returns JSON, without the marks. @param monotonic as in `History.read` */
export function historyText({ history }: Device, now: number, monotonic: number): string {
	const { ageMs, ...columns } = history.read(monotonic);
	return JSON.stringify({ from: isoTime(now - ageMs), ...columns });
}

function marksOf({ resets, crashes }: Device, jobs: readonly UpdateJob[]) {
	return [
		...resets.map(({ at, reason }) => ({ at, kind: "restart", reason, version: null })),
		...crashes.map(({ at, kind, version }) => ({
			at,
			kind: "crash",
			reason: kind,
			version: version || null,
		})),
		...jobs.map(({ startedAt, endedAt = startedAt, status, version = null }) => ({
			at: endedAt,
			kind: "update",
			reason: status,
			version,
		})),
	];
}

function describeUpdate({ status, percent, version, from, reason, startedAt, endedAt }: UpdateJob) {
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

function describeCrash(crash: StoredCrash) {
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

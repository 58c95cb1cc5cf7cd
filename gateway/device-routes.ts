/** `/api/devices`: lists, describes and forgets devices. */

import { type RequestHandler, type Response, Router } from "express";
import type { UpdateJob } from "./firmware/update-job.js";
import type { Updates } from "./firmware/updates.js";
import { refuseMethod, sendProblem } from "./problem.js";
import type { CrashStore, StoredCrash } from "./sessions/crash-store.js";
import type { Device } from "./sessions/device.js";
import type { Sessions } from "./sessions/sessions.js";
import { isoTime, sessionHead, textWithState } from "./sessions/view.js";

export interface DeviceRoutesOptions {
	readonly sessions: Sessions;
	readonly updates: Pick<Updates, "historyOf">;
	readonly crashes: Pick<CrashStore, "of">;
	readonly requireMonitor: RequestHandler;
	/** Removes a device from disk. Resolves to false if that failed and all of it stays. */
	readonly erase: (device: Device) => Promise<boolean>;
	/** Called after a device was forgotten on request. */
	readonly onForgotten: () => void;
}

export function deviceRoutes(options: DeviceRoutesOptions): Router {
	const { sessions, updates, crashes, requireMonitor, erase, onForgotten } = options;
	const router = Router({ caseSensitive: true, strict: true });

	router
		.route("/api/devices")
		.get(requireMonitor, (_request, response) => {
			const devices = Array.from(sessions.devices.values(), describe);
			response.set("Cache-Control", "no-store").json({ devices });
		})
		.all(refuseMethod("GET, HEAD"));

	router
		.route("/api/devices/:deviceId")
		.get(requireMonitor, async ({ params: { deviceId } }, response) => {
			const device = sessions.devices.get(deviceId);
			if (!device) return sendUnknown(response, deviceId);
			const stored = await crashes.of(device);
			const details = {
				...describe(device),
				versions: device.versions.map(withTime),
				resets: device.resets.map(withTime),
				updates: updates.historyOf(deviceId).map(describeUpdate),
				crashes: stored.map(describeCrash),
			};
			response.set("Cache-Control", "no-store").type("json").send(textWithState(details, device));
		})
		.delete(requireMonitor, async ({ params: { deviceId } }, response) => {
			const device = sessions.devices.get(deviceId);
			if (!device) return sendUnknown(response, deviceId);
			if (!device.session.connected && !(await erase(device))) {
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
		.all(refuseMethod("GET, HEAD, DELETE"));

	return router;
}

function describe(device: Device) {
	const { chip, firstSeenAt, session } = device;
	return { ...sessionHead(session), chip: chip ?? null, firstSeenAt: isoTime(firstSeenAt) };
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

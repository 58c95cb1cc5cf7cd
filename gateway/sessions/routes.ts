/**
 * `/api/devices`: what is known of each device, for programs that want to ask rather than listen. Here a device is
 * forgotten too; nothing else ever takes one out but the arrival of the ten-thousand-and-first.
 */

import { type RequestHandler, type Response, Router } from "express";
import type { UpdateJob } from "../firmware/update-job.js";
import { sendProblem } from "../problem.js";
import type { Device } from "./device.js";
import type { Sessions } from "./sessions.js";
import type { Updates } from "./updates.js";
import { isoTime, sessionHead, textWithState } from "./view.js";

/**
 * @param requireMonitor lets those pass who may see and forget devices
 * @param onForgotten a device was forgotten because somebody asked for it
 */
export function deviceRoutes(
	sessions: Sessions,
	updates: Pick<Updates, "historyOf">,
	requireMonitor: RequestHandler,
	onForgotten: () => void,
): Router {
	const router = Router({ caseSensitive: true, strict: true });
	router.use("/api/devices", requireMonitor);

	router.get("/api/devices", (_request, response) => {
		const devices = Array.from(sessions.devices.values(), describe);
		response.set("Cache-Control", "no-store").json({ devices });
	});

	router
		.route("/api/devices/:deviceId")
		.get(({ params: { deviceId } }, response) => {
			const device = sessions.devices.get(deviceId);
			if (!device) return sendUnknown(response, deviceId);
			const details = {
				...describe(device),
				versions: device.versions.map(withTime),
				resets: device.resets.map(withTime),
				updates: updates.historyOf(deviceId).map(describeUpdate),
			};
			response.set("Cache-Control", "no-store").type("json").send(textWithState(details, device));
		})
		.delete(({ params: { deviceId } }, response) => {
			const device = sessions.devices.get(deviceId);
			if (!device) return sendUnknown(response, deviceId);
			if (!sessions.forget(device)) {
				const detail = `${deviceId} is connected and would be known again at once; forget it while it is away.`;
				return sendProblem(response, { status: 409, detail });
			}
			onForgotten();
			response.status(204).end();
		});

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

function withTime<T extends { readonly at: number }>(entry: T) {
	return { ...entry, at: isoTime(entry.at) };
}

function sendUnknown(response: Response, deviceId: string): void {
	sendProblem(response, { status: 404, detail: `No device is called ${deviceId}; see /api/devices.` });
}

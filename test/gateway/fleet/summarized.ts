/** Summary of the devices of sessions without a gateway, with its frames. */

import { Summary, type SummaryOptions, summaryText } from "../../../gateway/fleet/summary.js";
import { makeSessions } from "../../support/record-stubs.js";

/** @param characters length of each device's record, at least */
export function summarized(maxDevices: number, characters = 10, options: Partial<SummaryOptions> = {}) {
	const frames: Buffer[] = [];
	const { events, sessions, open: openSession } = makeSessions({ maxDevices });
	const summary = new Summary({
		devices: sessions.devices,
		textOf: (device) => summaryText(device, { of: () => ({}) }),
		now: () => 0,
		pauseMs: 250,
		isNeeded: () => true,
		onFrame: (frame) => void frames.push(frame),
		...options,
	});
	const touch = ({ device }: { device?: { deviceId: string } | undefined }) =>
		device && summary.touch(device.deviceId);
	const deviceForgotten = ({ deviceId }: { deviceId: string }) => summary.touch(deviceId);
	events.on({ sessionChanged: touch, uplink: touch, deviceForgotten });
	const remoteAddress = "x".repeat(characters);
	const open = (deviceId: string) => openSession(deviceId, { model: "DEV-1", remoteAddress });
	return { sessions, summary, frames, open };
}

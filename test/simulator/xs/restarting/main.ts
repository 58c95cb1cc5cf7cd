/** Firmware that restarts once, as after an update, which the simulator does not support. */

import type { Host } from "../../../../device/host.js";

declare const device: Host;

export default function main(): void {
	const system = new device.system({});
	trace(`started after ${system.resetReason}\n`);
	if (system.resetReason === "POWERON_RESET") system.restart();
}

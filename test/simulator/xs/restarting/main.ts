/** Firmware that restarts once: an update would ask for it, but the simulator cannot be updated. */

import type { Host } from "../../../../device/host.js";

declare const device: Host;

export default function main(): void {
	const system = new device.system({});
	trace(`started after ${system.resetReason}\n`);
	if (system.resetReason === "POWERON_RESET") system.restart();
}

/** Entry point of the firmware. Modules are preloaded into ROM, so nothing may run at module level. */

import { diagnostics } from "./diagnostics.js";
import { type ComponentDefinition, Firmware } from "./firmware.js";
import type { Host } from "./host.js";
import { controls } from "./peripherals/controls.js";
import { restart } from "./restart.js";
import { sound } from "./sound/component.js";
import { updates } from "./update/component.js";

/** Provided by the host. The SDK's own typing covers only pins and buses. */
declare const device: Host;

/** Optional components: delete a line to leave one out. Without `updates`, a device can only be flashed by USB. */
const components: readonly ComponentDefinition[] = Object.freeze([
	controls,
	diagnostics,
	updates,
	sound,
	restart,
]);

export default function main(): void {
	new Firmware(device).start(components);
}

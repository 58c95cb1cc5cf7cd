/** The peripherals' commands, as a component of the firmware. */

import type { ComponentKind, Core } from "../firmware.js";
import { Controls } from "./controls.js";

export const controls: ComponentKind = Object.freeze({
	features: Object.freeze(["identify", "light", "quiet"] as const),
	create: ({ peripherals }: Core) => new Controls(peripherals),
});

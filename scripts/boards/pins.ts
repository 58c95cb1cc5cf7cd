/** Pins of the boards. */

import type { Model } from "../../device/protocol/models.js";
import type { BoardPins } from "../../hosts/esp32/pins.js";
import { boardOf } from "./build.js";

/** All pins that pins.ts of a board may contain. */
export interface AllPins extends BoardPins {
	readonly haptics?: number;
	readonly ambientLight?: number;
	readonly touch?: number;
	/** From the tuning in the same file. */
	readonly touchThreshold?: number;
}

/** Reads hosts/<board>/pins.ts. */
export async function readPins(model: Model): Promise<AllPins> {
	const { pins, tuning }: { readonly pins: AllPins; readonly tuning: Partial<AllPins> } = await import(
		`../../hosts/${boardOf(model)}/pins.js`
	);
	return { ...pins, ...tuning };
}

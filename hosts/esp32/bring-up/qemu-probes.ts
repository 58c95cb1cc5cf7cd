/** Measurements of QEMU's ESP32, which has no ring and no sensors. */

import { nativeProbes } from "bring-up/native-probes";
import type { Probes } from "bring-up/requests";

export function createProbes(): Probes {
	return {
		...nativeProbes(),
		showPixels: () => {
			throw new Error("QEMU emulates no LED ring");
		},
		readAnalog: () => {
			throw new Error("QEMU emulates no analog inputs");
		},
	};
}

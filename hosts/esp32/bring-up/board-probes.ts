/** Measurements of a board at any pin, through bring-up.c and the SDK's drivers. */

import { LightSensor, Ring } from "board/peripherals";
import { pins } from "board/pins";
import { nativeProbes } from "bring-up/native-probes";
import type { Probes } from "bring-up/requests";

export function createProbes(): Probes {
	return {
		...nativeProbes(),
		showPixels: (pixels) => {
			const ring = new Ring({ pin: pins.ledRing, length: pixels.length, order: pins.ledOrder });
			for (let index = 0; index < pixels.length; index += 1) {
				const [red = 0, green = 0, blue = 0] = pixels[index] ?? [];
				ring.setPixel(index, ring.makeRGB(red, green, blue));
			}
			ring.update();
			ring.close();
		},
		readAnalog: (pin) => {
			const input = new LightSensor({ pin });
			const value = input.read();
			input.close();
			return value;
		},
	};
}

/** Measurements of a board at any pin, through bring-up.c and the SDK's drivers. */

import { nativeFunctions } from "board/native";
import { LightSensor, Ring } from "board/peripherals";
import { pins } from "board/pins";
import type { Probes } from "bring-up/requests";

export function createProbes(): Probes {
	const ffi = nativeFunctions();
	return {
		revision: ffi.bring_up_revision(),
		partitions: () => {
			const found: ReturnType<Probes["partitions"]>[number][] = [];
			for (let index = 0; ; index += 1) {
				const [name, offset, size] = ffi.bring_up_partition(index).split(",");
				if (!name) return found;
				found.push({ name, offset: Number(offset), size: Number(size) });
			}
		},
		readLine: () => ffi.bring_up_line() || undefined,
		probe: (data, clock, address) => ffi.bring_up_i2c_probe(data, clock, address),
		readRegister: (data, clock, address, register) => ffi.bring_up_i2c_read(data, clock, address, register),
		level: (pin) => ffi.bring_up_level(pin),
		countEdges: (pin, ms) => ffi.bring_up_count(pin, ms),
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

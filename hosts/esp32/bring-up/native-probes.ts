/** Measurements of an ESP32 through bring-up.c, without drivers of the SDK. */

import { nativeFunctions } from "board/native";
import type { Probes } from "bring-up/requests";

export function nativeProbes(): Omit<Probes, "showPixels" | "readAnalog"> {
	const ffi = nativeFunctions();
	return {
		revision: ffi.bring_up_revision(),
		partitions: () => {
			const found: ReturnType<Probes["partitions"]>[number][] = [];
			for (let index = 0; ; index += 1) {
				const [name, type, subtype, offset, size] = ffi.bring_up_partition(index).split(",");
				if (!name) return found;
				found.push({
					name,
					type: Number(type),
					subtype: Number(subtype),
					offset: Number(offset),
					size: Number(size),
				});
			}
		},
		readLine: () => ffi.bring_up_line() || undefined,
		probe: (data, clock, address) => ffi.bring_up_i2c_probe(data, clock, address),
		readRegister: (data, clock, address, register) => ffi.bring_up_i2c_read(data, clock, address, register),
		level: (pin) => ffi.bring_up_level(pin),
		countEdges: (pin, ms) => ffi.bring_up_count(pin, ms),
	};
}

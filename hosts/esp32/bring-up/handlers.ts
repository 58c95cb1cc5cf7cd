/** Request handlers of the bring-up program. Each opens its peripherals for that request only, so that requests can be repeated. */

import { pause } from "bring-up/pause";
import type { Answer, Probes, RequestName, RequestParams } from "bring-up/requests";
import { measureClocks, playTone } from "bring-up/speaker";
import type { Host, System } from "../../../device/host.js";

export type Handlers = {
	readonly [N in RequestName]: (ask: RequestParams<N>) => Answer<N> | Promise<Answer<N>>;
};

export interface HandlersOptions {
	readonly device: Host;
	readonly system: System;
	readonly probes: Probes;
}

/** Duration of a sensor's first measurement. */
const firstValueMs = 100;
/** Long enough to feel the motor. */
const motorMs = 1000;
/** Counts 20,480 edges of the fastest clock, 4.1 MHz; the counter has 15 bits. */
const countMs = 5;

export function createHandlers({ device, system, probes }: HandlersOptions): Handlers {
	const { peripheral } = device;
	return {
		about: () => ({
			model: device.model,
			chip: device.chip,
			revision: probes.revision,
			flash_mb: system.flashSizeMB,
			psram_mb: system.psramSizeMB,
			free_heap_bytes: system.freeHeapBytes,
			mac_address: system.macAddress,
			idf_version: system.idfVersion,
			reset_reason: system.resetReason,
			partitions: probes.partitions(),
		}),
		i2c_probe: ({ data, clock, addresses }) => {
			const answering: number[] = [];
			for (const address of addresses) {
				const result = probes.probe(data, clock, address);
				if (result === -3) throw new Error(`GPIO ${data} or ${clock} is not usable as an output.`);
				if (result < 0) return { answering, low: result === -1 ? "data" : "clock" };
				if (result === 1) answering.push(address);
			}
			return { answering };
		},
		i2c_read: ({ data, clock, address, register }) => {
			const value = probes.readRegister(data, clock, address, register);
			return value < 0 ? {} : { value };
		},
		levels: ({ pins }) => ({ low: pins.filter((pin) => probes.level(pin) === 0) }),
		ring: ({ pixels }) => {
			probes.showPixels(pixels);
			return {};
		},
		sweep: ({ volume }) => playTone(peripheral, volume),
		clocks: ({ pins }) =>
			measureClocks(peripheral, () => pins.map((pin) => (probes.countEdges(pin, countMs) * 1000) / countMs)),
		motor: async ({ percent }) => {
			const { haptics: Motor } = peripheral;
			if (!Motor) throw new Error("This model has no haptic motor");
			const motor = new Motor({});
			motor.write(Math.round((percent / 100) * (2 ** motor.resolution - 1)));
			await pause(motorMs);
			motor.write(0);
			motor.close();
			return {};
		},
		sensors: async () => {
			const light = peripheral.ambientLight && new peripheral.ambientLight({});
			const touch = peripheral.touch && new peripheral.touch({});
			await pause(firstValueMs);
			const level = light?.read();
			const count = touch?.read();
			light?.close();
			touch?.close();
			return { ...(level !== undefined && { light: level }), ...(count && { touch: count }) };
		},
		analog: ({ pins }) => ({ values: pins.map((pin) => probes.readAnalog(pin)) }),
	};
}

/** The ambient light sensor and the touch pad: values that Node sets. */

import type { AnalogInput, TouchPad } from "../../../device/host.js";
import Channel from "./channel.js";

class Reading {
	readonly #channel: Channel;
	#value: number | undefined;

	constructor(kind: string, initial: number) {
		this.#value = initial;
		this.#channel = new Channel(kind, {}, (_event, value) => {
			this.#value = typeof value === "number" ? value : undefined;
		});
	}

	/** Undefined where it cannot be measured. */
	get value(): number | undefined {
		return this.#value;
	}

	close(): void {
		this.#channel.close();
	}
}

/** 12 bits, as on an ESP32-S3. */
export class LightSensor extends Reading implements AnalogInput {
	constructor() {
		super("light", 1500);
	}

	get resolution(): number {
		return 12;
	}

	read(): number | undefined {
		return this.value;
	}
}

/** About what an ESP32-S3 counts on a pad without a finger. */
export class CapacitivePad extends Reading implements TouchPad {
	constructor() {
		super("touch", 24_000);
	}

	read(): number {
		return this.value ?? 0;
	}
}

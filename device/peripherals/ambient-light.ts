/** The ambient light sensor of the PROTO-1: 12 raw bits, smoothed, so that lamps on mains do not flicker in a report. */

import Timer from "timer";
import type { AnalogInput, Host } from "../host.js";

const sampleMs = 100;
/** The share of a new sample: three quarters of a step show within 0.5 s. */
const smoothing = 0.25;

export interface AmbientLightOptions {
	readonly part: NonNullable<Host["peripheral"]["ambientLight"]>;
}

export class AmbientLight {
	readonly #input: AnalogInput;
	#level = 0;

	constructor(options: AmbientLightOptions) {
		this.#input = new options.part({});
		this.#level = this.#sample();
		Timer.repeat(() => {
			this.#level += (this.#sample() - this.#level) * smoothing;
		}, sampleMs);
	}

	/** 0 to 4095. */
	get level(): number {
		return Math.round(this.#level);
	}

	/** @returns the level that was there before where the converter fails: its driver returns nothing then */
	#sample(): number {
		const sample = (this.#input.read() * 4095) / (2 ** this.#input.resolution - 1);
		return Number.isNaN(sample) ? this.#level : sample;
	}
}

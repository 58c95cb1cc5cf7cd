/**
 * Ambient light sensor of the PROTO-1, low-pass filtered against mains flicker. The filter uses integers: floating-point
 * values would become subnormal in darkness, which XS's Math.round does not round.
 */

import Timer from "timer";
import type { AnalogInput, Host } from "../host.js";

const sampleMs = 100;
const maxLevel = 4095;
/** Resolution of the filtered level: 64ths of a count. */
const fractionBits = 6;
/** Weight of a new sample: 1/4, so that three quarters of a step show within 0.5 s. */
const smoothingBits = 2;
/**
 * Samples of 0 since the start after which the sensor may be missing. In a dark room most sensors output a few millivolts
 * (a count is 0.76 mV), and the converter adds noise, but some output 0 all night: the fault names both causes.
 */
const darkSamples = (10 * 60_000) / sampleMs;
const darkFault =
	"The light sensor has measured nothing since the start: it may be disconnected, or the room is very dark.";

export interface AmbientLightOptions {
	readonly part: NonNullable<Host["peripheral"]["ambientLight"]>;
}

export class AmbientLight {
	readonly #input: AnalogInput;
	/** Undefined until the first sample. */
	#filtered: number | undefined;
	/** Infinity once a sample was above 0. */
	#samplesUntilFault = darkSamples;

	constructor(options: AmbientLightOptions) {
		this.#input = new options.part({});
		this.#sample();
		Timer.repeat(() => this.#sample(), sampleMs);
	}

	/** 0 to 4095. */
	get level(): number {
		const half = 1 << (fractionBits - 1);
		return ((this.#filtered ?? 0) + half) >> fractionBits;
	}

	/** Undefined: no known fault. */
	get fault(): string | undefined {
		return this.#samplesUntilFault <= 0 ? darkFault : undefined;
	}

	/** Reads a sample; a failed conversion does not change the level. */
	#sample(): void {
		const share = Number(this.#input.read()) / (2 ** this.#input.resolution - 1);
		if (share > 0) this.#samplesUntilFault = Number.POSITIVE_INFINITY;
		else this.#samplesUntilFault -= 1;
		if (Number.isNaN(share)) return;
		const level = Math.max(0, Math.min(1, share)) * maxLevel;
		const sample = (level * (1 << fractionBits)) | 0;
		// The filter settles within 3/64 of a steady sample, so the rounded level is exact.
		this.#filtered =
			this.#filtered === undefined ? sample : this.#filtered + ((sample - this.#filtered) >> smoothingBits);
	}
}

/** Touch pad of the PROTO-1. Tracks a baseline, since the count without a finger drifts with temperature and humidity. */

import Timer from "timer";
import type { Host, TouchPad } from "../host.js";

const sampleMs = 50;
/** Release threshold, as a share of the pad's threshold. */
const releasedShare = 0.5;
/** Weight of a new sample: the baseline follows a drift within seconds. */
const baselineWeight = 0.02;
/** A longer "touch" is taken for a change of the environment. */
const maxTouchSamples = 30_000 / sampleMs;
/** Consecutive empty samples after which the pad's controller counts as broken. */
const emptySamples = 10_000 / sampleMs;

const emptyFault = "The touch pad measures nothing.";
const endlessFault =
	"The touch pad is touched permanently: something lies on it, or its threshold is too low.";

export interface TouchOptions {
	readonly part: NonNullable<Host["peripheral"]["touch"]>;
	readonly onChanged: (isActive: boolean) => void;
}

export class Touch {
	readonly #pad: TouchPad;
	readonly #onChanged: (isActive: boolean) => void;
	/** The last valid count. */
	#count = 0;
	#baseline = 0;
	#isActive = false;
	#activeSamples = 0;
	/** Empty samples left until the pad counts as broken. */
	#samplesUntilFault = emptySamples;
	/** Count of a touch that has not ended; 0: none. */
	#endlessCount = 0;

	constructor(options: TouchOptions) {
		this.#pad = new options.part({});
		this.#onChanged = options.onChanged;
		this.#sample();
		Timer.repeat(() => this.#sample(), sampleMs);
	}

	get isActive(): boolean {
		return this.#isActive;
	}

	/** Undefined: no known fault. */
	get fault(): string | undefined {
		if (this.#samplesUntilFault <= 0) return emptyFault;
		return this.#endlessCount > 0 ? endlessFault : undefined;
	}

	#sample(): void {
		const count = this.#pad.read();
		this.#samplesUntilFault = count > 0 ? emptySamples : this.#samplesUntilFault - 1;
		this.#count = count || this.#count;
		this.#baseline ||= this.#count;
		const rise = this.#count - this.#baseline;
		const threshold = this.#baseline * this.#pad.threshold;
		if (this.#endlessCount - this.#count > threshold * releasedShare) this.#endlessCount = 0;
		if (!this.#isActive) {
			if (rise > threshold) return this.#set(true);
			// A falling baseline follows immediately: the pad may have been touched at the start.
			this.#baseline = rise < 0 ? this.#count : this.#baseline + rise * baselineWeight;
			return;
		}
		this.#activeSamples += 1;
		if (this.#activeSamples >= maxTouchSamples) {
			this.#baseline = this.#count;
			this.#endlessCount = this.#count;
		}
		if (this.#count - this.#baseline < threshold * releasedShare) this.#set(false);
	}

	#set(isActive: boolean): void {
		this.#isActive = isActive;
		this.#activeSamples = 0;
		this.#onChanged(isActive);
	}
}

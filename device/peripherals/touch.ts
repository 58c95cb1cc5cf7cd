/**
 * The touch pad of the PROTO-1, with a baseline of its own: what a pad reads without a finger drifts with temperature and
 * humidity, and not every chip keeps a benchmark.
 */

import Timer from "timer";
import type { Host, TouchPad } from "../host.js";

const sampleMs = 50;
/** Above the baseline by these shares of it: a finger comes, a finger goes. */
const pressedShare = 0.1;
const releasedShare = 0.05;
/** The share of a new sample in the baseline: it follows a drift within seconds. */
const baselineFollows = 0.02;
/** A "finger" that stays this long is a new environment. */
const longestTouchSamples = 30_000 / sampleMs;

export interface TouchOptions {
	readonly part: NonNullable<Host["peripheral"]["touch"]>;
	readonly onChanged: (isActive: boolean) => void;
}

export class Touch {
	readonly #pad: TouchPad;
	readonly #onChanged: (isActive: boolean) => void;
	/** As measured last: a read that fails leaves it as it is. */
	#count = 0;
	#baseline = 0;
	#isActive = false;
	#activeSamples = 0;

	constructor(options: TouchOptions) {
		this.#pad = new options.part({});
		this.#onChanged = options.onChanged;
		this.#sample();
		Timer.repeat(() => this.#sample(), sampleMs);
	}

	get isActive(): boolean {
		return this.#isActive;
	}

	#sample(): void {
		this.#count = this.#pad.read() || this.#count;
		// Without a first count to start from, the next one would look like a finger.
		this.#baseline ||= this.#count;
		const rise = this.#count - this.#baseline;
		if (!this.#isActive) {
			if (rise > this.#baseline * pressedShare) return this.#set(true);
			// Downwards at once: the pad was touched when the device started.
			this.#baseline = rise < 0 ? this.#count : this.#baseline + rise * baselineFollows;
			return;
		}
		this.#activeSamples += 1;
		if (this.#activeSamples >= longestTouchSamples) this.#baseline = this.#count;
		if (this.#count - this.#baseline < this.#baseline * releasedShare) this.#set(false);
	}

	#set(isActive: boolean): void {
		this.#isActive = isActive;
		this.#activeSamples = 0;
		this.#onChanged(isActive);
	}
}

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
	#baseline: number;
	#isActive = false;
	#activeSamples = 0;

	constructor(options: TouchOptions) {
		this.#pad = new options.part({});
		this.#onChanged = options.onChanged;
		this.#baseline = this.#pad.read();
		Timer.repeat(() => this.#sample(), sampleMs);
	}

	get isActive(): boolean {
		return this.#isActive;
	}

	#sample(): void {
		const value = this.#pad.read();
		const rise = value - this.#baseline;
		if (!this.#isActive) {
			if (rise > this.#baseline * pressedShare) return this.#set(true);
			// Downwards at once: the pad was touched when the device started.
			this.#baseline = rise < 0 ? value : this.#baseline + rise * baselineFollows;
			return;
		}
		this.#activeSamples += 1;
		if (this.#activeSamples >= longestTouchSamples) this.#baseline = value;
		if (value - this.#baseline < this.#baseline * releasedShare) this.#set(false);
	}

	#set(isActive: boolean): void {
		this.#isActive = isActive;
		this.#activeSamples = 0;
		this.#onChanged(isActive);
	}
}

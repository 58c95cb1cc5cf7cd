/**
 * Sets the wall clock from a time server. A board wakes in 1970: until the first answer a state report's timestamp says so.
 */

import Timer from "timer";
import type { System, TimePart, TimeQuery } from "../host.js";

const retryMs = 60_000;
/** A crystal of 20 ppm drifts by half a second in this time. */
const resyncMs = 6 * 3_600_000;

export interface ClockOptions {
	readonly part: TimePart;
	readonly system: System;
}

export class Clock {
	readonly #options: ClockOptions;
	#query: TimeQuery | undefined;
	#timer: Timer | undefined;

	constructor(options: ClockOptions) {
		this.#options = options;
	}

	/** There is a network: asks for the time, now and every few hours. */
	start(): void {
		if (this.#timer === undefined && this.#query === undefined) this.#ask();
	}

	/** There is no network any more. */
	stop(): void {
		this.#query?.close();
		this.#query = undefined;
		Timer.clear(this.#timer);
		this.#timer = undefined;
	}

	#ask(): void {
		const { part, system } = this.#options;
		try {
			this.#query = new part({
				onTime: (seconds) => {
					this.#query = undefined;
					if (seconds !== undefined) system.setTime(seconds);
					this.#plan(seconds === undefined ? retryMs : resyncMs);
				},
			});
		} catch (error) {
			// No memory for a socket, say. This runs in a timer, where an exception is a restart.
			trace(`clock: ${error}\n`);
			this.#plan(retryMs);
		}
	}

	#plan(delayMs: number): void {
		this.#timer = Timer.set(() => {
			this.#timer = undefined;
			this.#ask();
		}, delayMs);
	}
}

/** Exponential backoff with jitter, so that a fleet that lost its gateway neither overloads it nor reconnects in step. */

import Timer from "timer";

/** Delays of the retries of a round. */
const retryDelaysMs: readonly number[] = Object.freeze([1_000, 2_000, 4_000, 8_000, 16_000]);
/** Delay between two rounds. */
const roundDelayMs = 60_000;

export interface BackoffOptions {
	onRetry: () => void;
	/** Called when all retries of a round have failed. */
	onExhausted: () => void;
}

/** Schedules retries. Methods that schedule one have no effect while one is pending. */
export class Backoff {
	readonly #onRetry: () => void;
	readonly #onExhausted: () => void;
	#retries = 0;
	#timer: Timer | undefined;
	#delayMs = 0;

	constructor(options: BackoffOptions) {
		this.#onRetry = options.onRetry;
		this.#onExhausted = options.onExhausted;
	}

	/** The attempt failed: retries after a delay that grows within a round. */
	failed(): void {
		if (this.isWaiting) return;
		const delayMs = retryDelaysMs[this.#retries];
		if (delayMs === undefined) {
			this.rejected();
			this.#onExhausted();
			return;
		}
		this.#retries += 1;
		this.#plan(delayMs / 2, delayMs);
	}

	/** The server asked for a pause: retries after it plus up to `spreadMs`. */
	pause(ms: number, spreadMs: number): void {
		if (!this.isWaiting) this.#plan(ms, ms + spreadMs);
	}

	/** A soon retry is useless: waits as after a failed round. */
	rejected(): void {
		if (this.isWaiting) return;
		this.#retries = 0;
		this.#plan(roundDelayMs / 2, roundDelayMs);
	}

	get isWaiting(): boolean {
		return this.#timer !== undefined;
	}

	/** Delay of the retry scheduled last. */
	get delayMs(): number {
		return this.#delayMs;
	}

	/** Starts a new round and cancels a pending retry. */
	reset(): void {
		this.#retries = 0;
		Timer.clear(this.#timer);
		this.#timer = undefined;
	}

	#plan(earliestMs: number, latestMs: number): void {
		this.#delayMs = Math.round(earliestMs + Math.random() * (latestMs - earliestMs));
		this.#timer = Timer.set(() => {
			this.#timer = undefined;
			this.#onRetry();
		}, this.#delayMs);
	}
}

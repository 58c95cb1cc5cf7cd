/** Exponential backoff with jitter: a fleet that lost its gateway must neither overload it nor reconnect in step. */

import Timer from "timer";

/** Of a round, before each retry. */
const retryDelaysMs = Object.freeze([1_000, 2_000, 4_000, 8_000, 16_000] as const);
/** Between two rounds. */
const roundDelayMs = 60_000;
/** Orderly closes in a row that are followed by a short delay. */
const quickReturns = 5;

export interface BackoffOptions {
	onRetry: () => void;
	/** All retries of a round have failed. */
	onExhausted: () => void;
}

/** The methods that plan a retry have no effect while one is planned. */
export class Backoff {
	readonly #onRetry: () => void;
	readonly #onExhausted: () => void;
	#retries = 0;
	#returns = 0;
	#timer: Timer | undefined;
	#delayMs = 0;

	constructor(options: BackoffOptions) {
		this.#onRetry = options.onRetry;
		this.#onExhausted = options.onExhausted;
	}

	/** The next delay is longer. */
	failed(): void {
		if (this.isWaiting) return;
		const delayMs = retryDelaysMs[this.#retries];
		if (delayMs === undefined) {
			this.refused();
			this.#onExhausted();
			return;
		}
		this.#retries += 1;
		this.#plan(delayMs / 2, delayMs);
	}

	/** The server closed in order: retry after the first delay; from the sixth time in a row after 8 to 16 s. */
	ended(): void {
		if (this.isWaiting) return;
		const delayMs = this.#returns < quickReturns ? retryDelaysMs[0] : retryDelaysMs[4];
		this.#returns += 1;
		this.#plan(delayMs / 2, delayMs);
	}

	/** The server asked for a pause: retry after it, with up to `spreadMs` added. */
	pause(ms: number, spreadMs: number): void {
		if (!this.isWaiting) this.#plan(ms, ms + spreadMs);
	}

	/** Retrying soon is useless: wait as after a failed round. */
	refused(): void {
		if (this.isWaiting) return;
		this.#retries = 0;
		this.#plan(roundDelayMs / 2, roundDelayMs);
	}

	get isWaiting(): boolean {
		return this.#timer !== undefined;
	}

	/** Of the retry that was planned last. */
	get delayMs(): number {
		return this.#delayMs;
	}

	/** Also cancels a planned retry. */
	reset(): void {
		this.#retries = 0;
		this.#returns = 0;
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

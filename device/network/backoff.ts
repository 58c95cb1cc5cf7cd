/**
 * How long to wait before the next try, for Wi-Fi and for the gateway alike. A fleet that lost its gateway must neither
 * overload it nor come back in step, so each delay doubles, and all delays are drawn at random.
 */

import Timer from "timer";

/** Delays before each retry of a round, in milliseconds. */
const retryDelaysMs = Object.freeze([1_000, 2_000, 4_000, 8_000, 16_000] as const);
/** Between two rounds of retries. */
const roundDelayMs = 60_000;
/** So often in a row the other side may end in order, and be back soon. */
const quickReturns = 5;

export interface BackoffOptions {
	/** Time to try again. */
	onRetry: () => void;
	/** All retries of a round are used up; the next round follows by itself. */
	onExhausted: () => void;
}

/** All methods that plan a try do nothing where one is planned already. */
export class Backoff {
	readonly #onRetry: () => void;
	readonly #onExhausted: () => void;
	#retries = 0;
	#returns = 0;
	#timer: Timer | undefined;

	constructor(options: BackoffOptions) {
		this.#onRetry = options.onRetry;
		this.#onExhausted = options.onExhausted;
	}

	/** A try failed: the next one waits longer than the one before. */
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

	/**
	 * The other side ended in order, which is no failure: the next try follows after the first delay. One that ends so time
	 * after time is tried at most every 8 s from the sixth time on.
	 */
	ended(): void {
		if (this.isWaiting) return;
		const delayMs = this.#returns < quickReturns ? retryDelaysMs[0] : retryDelaysMs[4];
		this.#returns += 1;
		this.#plan(delayMs / 2, delayMs);
	}

	/** The other side asked for this pause, which is no failure: the next try follows after it, at most half as much later. */
	pause(ms: number): void {
		if (!this.isWaiting) this.#plan(ms, ms * 1.5);
	}

	/** Trying more often does not help: the next try follows as after a round, and begins a new one. */
	refused(): void {
		if (this.isWaiting) return;
		this.#retries = 0;
		this.#plan(roundDelayMs / 2, roundDelayMs);
	}

	/** Whether a try is planned. */
	get isWaiting(): boolean {
		return this.#timer !== undefined;
	}

	/** Forgets what was before; a planned try is called off. */
	reset(): void {
		this.#retries = 0;
		this.#returns = 0;
		Timer.clear(this.#timer);
		this.#timer = undefined;
	}

	#plan(earliestMs: number, latestMs: number): void {
		const delayMs = earliestMs + Math.random() * (latestMs - earliestMs);
		this.#timer = Timer.set(() => {
			this.#timer = undefined;
			this.#onRetry();
		}, Math.round(delayMs));
	}
}

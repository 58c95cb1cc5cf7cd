/**
 * How long to wait before the next try, for Wi-Fi and for the gateway alike. A fleet that lost its gateway must neither
 * hammer it nor come back in step, so each delay doubles and is drawn at random from its upper half.
 */

import Timer from "timer";

/** Delays before each retry of a round, in milliseconds. */
const retryDelaysMs = Object.freeze([1_000, 2_000, 4_000, 8_000, 16_000]);
/** Between two rounds of retries. */
const roundDelayMs = 60_000;

export interface BackoffOptions {
	/** Time to try again. */
	onRetry: () => void;
	/** All retries of a round are used up; the next round follows by itself. */
	onExhausted: () => void;
}

export class Backoff {
	readonly #onRetry: () => void;
	readonly #onExhausted: () => void;
	#retries = 0;
	#timer: Timer | undefined;

	constructor(options: BackoffOptions) {
		this.#onRetry = options.onRetry;
		this.#onExhausted = options.onExhausted;
	}

	/** A try failed: plans the next one. Does nothing where one is planned already. */
	failed(): void {
		if (this.#timer !== undefined) return;
		const delayMs = retryDelaysMs[this.#retries];
		if (delayMs === undefined) {
			this.#retries = 0;
			this.#plan(roundDelayMs);
			this.#onExhausted();
			return;
		}
		this.#retries += 1;
		this.#plan(delayMs);
	}

	/** Whether a try is planned. */
	get isWaiting(): boolean {
		return this.#timer !== undefined;
	}

	/** Forgets failures; a planned try is called off. */
	reset(): void {
		this.#retries = 0;
		Timer.clear(this.#timer);
		this.#timer = undefined;
	}

	#plan(delayMs: number): void {
		const drawnMs = delayMs * (0.5 + Math.random() / 2);
		this.#timer = Timer.set(() => {
			this.#timer = undefined;
			this.#onRetry();
		}, Math.round(drawnMs));
	}
}

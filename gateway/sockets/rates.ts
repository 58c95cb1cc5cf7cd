/**
 * Two ways to say "too often". Without them one client that loops could keep the whole gateway busy, or fill its log.
 */

/** Lets a burst through, then a steady rate: a bucket of tokens that refills. */
export class TokenBucket {
	readonly #perSecond: number;
	readonly #burst: number;
	readonly #now: () => number;
	#tokens: number;
	#filledAt: number;

	/** @param now milliseconds, from any start */
	constructor(options: { perSecond: number; burst: number; now: () => number }) {
		this.#perSecond = options.perSecond;
		this.#burst = options.burst;
		this.#now = options.now;
		this.#tokens = options.burst;
		this.#filledAt = options.now();
	}

	/** Takes a token. @returns false where none is left */
	take(): boolean {
		const now = this.#now();
		const refill = (Math.max(0, now - this.#filledAt) / 1000) * this.#perSecond;
		this.#tokens = Math.min(this.#burst, this.#tokens + refill);
		this.#filledAt = now;
		if (this.#tokens < 1) return false;
		this.#tokens -= 1;
		return true;
	}
}

/** Notices the n-th event within any one minute. */
export class MinuteCounter {
	readonly #limit: number;
	readonly #now: () => number;
	#times: number[] = [];

	/** @param now milliseconds, from any start */
	constructor(options: { limit: number; now: () => number }) {
		this.#limit = options.limit;
		this.#now = options.now;
	}

	/** Counts an event. @returns true once `limit` of them fell within the last 60 s */
	count(): boolean {
		const now = this.#now();
		this.#times = this.#times.filter((time) => now - time < 60_000);
		this.#times.push(now);
		return this.#times.length >= this.#limit;
	}
}

/** Detects a server that sends too slowly to be useful, yet never falls silent. */

/**
 * Minimum throughput: 16 KiB in 30 s, or 546 bytes/s. It is an eighth of what GPRS (4 KB/s) achieves, and 30 s bridge the
 * longest silence of a connection.
 */
export const windowBytes = 16 * 1024;
const windowMs = 30_000;

export class Throughput {
	readonly #now: () => number;
	/** Bytes received in the current window, and the time spent waiting for them. */
	#bytes = 0;
	#waitedMs = 0;
	/** Start of the current wait. */
	#sinceMs: number;

	/** @param now monotonic milliseconds */
	constructor(now: () => number) {
		this.#now = now;
		this.#sinceMs = now();
	}

	/** Starts waiting for bytes. Time between the last bytes and this call does not count. */
	wait(): void {
		this.#sinceMs = this.#now();
	}

	/** @returns whether the minimum throughput was missed in the window that ends now */
	isTooLowAfter(byteCount: number): boolean {
		const now = this.#now();
		this.#bytes += byteCount;
		this.#waitedMs += now - this.#sinceMs;
		this.#sinceMs = now;
		if (this.#waitedMs < windowMs) return false;
		const isTooLow = this.#bytes < windowBytes;
		this.#bytes = 0;
		this.#waitedMs = 0;
		return isTooLow;
	}
}

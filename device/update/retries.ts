/** Decides when an interrupted download is tried again, and when it ends. Reasons are sentences for `ota_error`. */

import type { Problem } from "./answer.js";

/** Lost connections without progress (below) that end the update. */
export const mostDrops = 5;
const progressBytes = 1024 * 1024;
const progressMs = 30_000;
/** Attempts to fetch a damaged block again. */
const mostRefetches = 3;
/** Before the first reconnection; doubled for each further one, with jitter in the upper half. */
const retryDelayMs = 1_000;
/** Longest silence; doubled after each drop, for slow lines. */
const stallMs = 2_000;
const longestStallMs = 30_000;
/** Longest wait for the device's own connection without progress. */
const longestWaitMs = 600_000;

export class Retries {
	readonly #now: () => number;
	#drops = 0;
	#refetches = 0;
	/** Offset at the last reset of the drops, and the time of receiving since. */
	#countedFrom = 0;
	#progressMs = 0;
	/** When the last block was passed on, or this connection began. */
	#movedAtMs = 0;
	/** When the last block was passed on, or the download began. */
	#progressAtMs: number;
	/** The server's last rejection, with the offset that was requested. */
	#rejection = "";

	/** @param now monotonic milliseconds */
	constructor(now: () => number) {
		this.#now = now;
		this.#progressAtMs = now();
	}

	/** @returns longest silence of the connection that begins, in ms */
	onConnect(): number {
		this.#movedAtMs = this.#now();
		return Math.min(longestStallMs, stallMs * 2 ** this.#drops);
	}

	/** A block was passed on. Resets the count of drops: a slow line that loses its connection now and then must succeed. */
	onProgress(offset: number): void {
		const now = this.#now();
		this.#refetches = 0;
		this.#progressMs += now - this.#movedAtMs;
		this.#movedAtMs = now;
		this.#progressAtMs = now;
		if (this.#progressMs < progressMs && offset - this.#countedFrom < progressBytes) return;
		this.#drops = 0;
		this.#progressMs = 0;
		this.#countedFrom = offset;
	}

	/**
	 * @param offset that was requested @param isOnline whether the gateway is connected
	 * @returns in ms: delay of the next attempt, or how long to wait for the gateway
	 * @throws Error with the reason if there is no further attempt
	 */
	onProblem({ kind, reason }: Problem, offset: number, isOnline: boolean): number {
		const rejection = `${offset}: ${reason}`;
		if (kind === "end" || (kind === "retry" && rejection === this.#rejection)) throw new Error(reason);
		if (kind === "retry") this.#rejection = rejection;
		if (isOnline) this.#drops += 1;
		const leftMs = this.#progressAtMs + longestWaitMs - this.#now();
		if (isOnline ? this.#drops > mostDrops : leftMs <= 0) throw new Error(reason);
		if (!isOnline) return leftMs;
		return Math.round(retryDelayMs * 2 ** (this.#drops - 1) * (0.5 + Math.random() / 2));
	}

	/** @returns 0, the delay of the next attempt in ms @throws Error if the block was damaged too often */
	onDamaged(where: string): number {
		this.#refetches += 1;
		if (this.#refetches <= mostRefetches) return 0;
		throw new Error(`The firmware arrives damaged, ${1 + mostRefetches} times at ${where}.`);
	}
}

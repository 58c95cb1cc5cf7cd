/** Retry policy of an interrupted download. Reasons are sentences for `ota_error`. */

import type { ResponseProblem } from "../network/http-response.js";

/** Maximum number of connections in a row that are lost without a block. Some servers close each connection after a response. */
export const maxDrops = 5;
/** Maximum retries of a damaged block. */
const maxRefetches = 3;
/** Delay of the first reconnection; doubled for each further one, with jitter in the upper half. */
const retryDelayMs = 1_000;
/** Timeout of silence; doubled after each drop, for slow networks. */
const stallMs = 2_000;
const maxStallMs = 30_000;
/** Maximum wait for the gateway connection without progress. */
const maxWaitMs = 600_000;

/** Unusable response, or the loss of the connection. */
export interface DownloadProblem {
	readonly kind: ResponseProblem["kind"] | "lost";
	readonly reason: string;
}

export class Retries {
	readonly #now: () => number;
	#drops = 0;
	#refetches = 0;
	/** Time at which the last block was delivered, or the download began. */
	#progressAtMs: number;
	/** Last unusable response, with the requested offset. */
	#rejection = "";

	/** @param now monotonic milliseconds */
	constructor(now: () => number) {
		this.#now = now;
		this.#progressAtMs = now();
	}

	/** Timeout of silence of a new connection, in ms. */
	get stallMs(): number {
		return Math.min(maxStallMs, stallMs * 2 ** this.#drops);
	}

	/** A block was delivered. */
	onProgress(): void {
		this.#drops = 0;
		this.#refetches = 0;
		this.#progressAtMs = this.#now();
	}

	/**
	 * @param offset requested offset @param isOnline whether the gateway is connected
	 * @returns delay of the next attempt, or maximum wait for the gateway, in ms
	 * @throws Error with the reason if the retries are exhausted
	 */
	onProblem({ kind, reason }: DownloadProblem, offset: number, isOnline: boolean): number {
		const rejection = `${offset}: ${reason}`;
		if (kind === "end" || (kind === "retry" && rejection === this.#rejection)) throw new Error(reason);
		if (kind === "retry") this.#rejection = rejection;
		if (isOnline) this.#drops += 1;
		const leftMs = this.#progressAtMs + maxWaitMs - this.#now();
		if (isOnline ? this.#drops > maxDrops : leftMs <= 0) throw new Error(reason);
		if (!isOnline) return leftMs;
		return Math.round(retryDelayMs * 2 ** (this.#drops - 1) * (0.5 + Math.random() / 2));
	}

	/** @returns 0, the delay of the next attempt in ms @throws Error if the block was damaged too often */
	onDamaged(position: string): number {
		this.#refetches += 1;
		if (this.#refetches <= maxRefetches) return 0;
		throw new Error(`The firmware was received damaged ${1 + maxRefetches} times at ${position}.`);
	}
}

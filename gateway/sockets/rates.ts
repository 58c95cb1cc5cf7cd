/**
 * Who says too much, and what becomes of it. Without this one client that loops could keep the whole gateway busy, or fill
 * its log. TCP passes the wait on to the sender of a socket that is not read: nobody else has to wait for it.
 */

import type { WebSocket } from "ws";

type Readable = Pick<WebSocket, "pause" | "resume">;

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

	/** Takes `cost` tokens, where there is one at least; what is missing is owed. @returns false where there is none */
	take(cost = 1): boolean {
		const now = this.#now();
		const refill = (Math.max(0, now - this.#filledAt) / 1000) * this.#perSecond;
		this.#tokens = Math.min(this.#burst, this.#tokens + refill);
		this.#filledAt = now;
		if (this.#tokens < 1) return false;
		this.#tokens -= cost;
		return true;
	}
}

/** Notices the n-th event within any one minute. */
export class MinuteCounter {
	readonly #limit: number;
	#times: number[] = [];

	constructor(limit: number) {
		this.#limit = limit;
	}

	/**
	 * Counts an event.
	 *
	 * @param now milliseconds, from any start
	 * @returns true once `limit` of them fell within the last 60 s
	 */
	count(now: number): boolean {
		this.#times = this.#times.filter((time) => now - time < 60_000);
		this.#times.push(now);
		return this.#times.length >= this.#limit;
	}
}

/**
 * For messages that are refused when there are too many of them: the socket is not read for as long as the surplus would
 * have taken at the allowed rate. Refusing alone is not enough: whoever sends garbage at full speed would keep the gateway
 * busy with refusals.
 */
export class Brake {
	readonly #socket: Readable;
	readonly #perSecond: number;
	readonly #maxMs: number;
	/** Messages that were refused since the socket was last read freely. */
	#surplus = 0;

	/** @param options `perSecond`: messages that are allowed, in the long run; `maxMs`: the longest wait */
	constructor(options: { socket: Readable; perSecond: number; maxMs: number }) {
		this.#socket = options.socket;
		this.#perSecond = options.perSecond;
		this.#maxMs = options.maxMs;
	}

	/** To be called for each message that is refused for its rate. */
	apply(): void {
		this.#surplus += 1;
		if (this.#surplus > 1) return;
		this.#socket.pause();
		// What has been read already comes in this turn of the event loop; only after it the surplus is known.
		setImmediate(() => {
			const waitMs = Math.min(this.#maxMs, (this.#surplus / this.#perSecond) * 1000);
			setTimeout(() => {
				this.#surplus = 0;
				this.#socket.resume();
			}, waitMs).unref();
		});
	}
}

/** A message counts once, and once more for each time that it is so many characters long. */
const charactersATurn = 2048;
const turnsMs = 50;

/**
 * For messages none of which may be lost: what comes too fast waits for its turn, and meanwhile its socket is not read. So
 * no more can wait than what was read in one go.
 */
export class Pacer {
	readonly #socket: Readable;
	readonly #bucket: TokenBucket;
	readonly #onTurn: (text: string) => void;
	readonly #onPaused: () => void;
	#waiting: string[] = [];
	#timer: NodeJS.Timeout | undefined;
	#isClosed = false;

	constructor(options: {
		readonly socket: Readable;
		readonly bucket: TokenBucket;
		/** A message's turn has come. */
		readonly onTurn: (text: string) => void;
		/** A message has to wait, and none did before. */
		readonly onPaused: () => void;
	}) {
		this.#socket = options.socket;
		this.#bucket = options.bucket;
		this.#onTurn = options.onTurn;
		this.#onPaused = options.onPaused;
	}

	/** Hands a message on, at once or when its turn comes. */
	take(text: string): void {
		if (this.#isClosed) return;
		if (this.#timer === undefined && this.#mayPass(text)) return this.#onTurn(text);
		this.#waiting.push(text);
		if (this.#timer !== undefined) return;
		this.#socket.pause();
		this.#plan();
		this.#onPaused();
	}

	/** What waits or still comes is dropped, and the socket is read again, or it would not hear the other side's goodbye. */
	close(): void {
		this.#isClosed = true;
		clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#waiting = [];
		this.#socket.resume();
	}

	#plan(): void {
		this.#timer = setTimeout(() => this.#handOn(), turnsMs).unref();
	}

	#handOn(): void {
		const stays = this.#waiting.findIndex((text) => !this.#mayPass(text));
		const passing = this.#waiting.splice(0, stays < 0 ? this.#waiting.length : stays);
		for (const text of passing) this.#onTurn(text);
		if (this.#waiting.length > 0) return this.#plan();
		this.#timer = undefined;
		this.#socket.resume();
	}

	#mayPass(text: string): boolean {
		return this.#bucket.take(1 + Math.floor(text.length / charactersATurn));
	}
}

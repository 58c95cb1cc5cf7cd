/**
 * Who says too much, and what becomes of it. Without this one client that loops could keep the whole gateway busy, or fill
 * its log. TCP passes the wait on to the sender of a socket that is not read: nobody else has to wait for it.
 */

import type { WebSocket } from "ws";

type Readable = Pick<WebSocket, "pause" | "resume">;

export interface Rate {
	/** In the long run. */
	readonly perSecond: number;
	/** At once. */
	readonly burst: number;
	/** Milliseconds from any start, on a clock that no one sets. */
	readonly monotonic: () => number;
}

/** Lets a burst through, then a steady rate: a bucket of tokens that refills. */
export class TokenBucket {
	readonly #rate: Rate;
	#tokens: number;
	#filledAt: number;

	constructor(rate: Rate) {
		this.#rate = rate;
		this.#tokens = rate.burst;
		this.#filledAt = rate.monotonic();
	}

	/** Takes `cost` tokens, where there is one at least; what is missing is owed. @returns false where there is none */
	take(cost = 1): boolean {
		const { perSecond, burst, monotonic } = this.#rate;
		const time = monotonic();
		const refill = (Math.max(0, time - this.#filledAt) / 1000) * perSecond;
		this.#tokens = Math.min(burst, this.#tokens + refill);
		this.#filledAt = time;
		if (this.#tokens < 1) return false;
		this.#tokens -= cost;
		return true;
	}
}

/** @returns what counts an event at a time in milliseconds, and says how many fell within the last 60 s */
export function createMinuteCounter(): (now: number) => number {
	let times: number[] = [];
	return (now) => {
		times = times.filter((time) => now - time < 60_000);
		return times.push(now);
	};
}

/**
 * Counts a socket's ping and pong frames, which are no messages: a peer that sends nothing else would escape every other
 * limit.
 *
 * @param onTooMany called for each frame past the rate
 */
export function watchControlFrames(socket: Pick<WebSocket, "on">, rate: Rate, onTooMany: () => void): void {
	const bucket = new TokenBucket(rate);
	const count = () => {
		if (!bucket.take()) onTooMany();
	};
	socket.on("ping", count);
	socket.on("pong", count);
}

/** @returns what is to be called for each message that comes after our goodbye: past `atMost` the socket is cut off */
export function createLastWords(socket: Pick<WebSocket, "terminate">, atMost: number): () => void {
	let count = 0;
	return () => {
		count += 1;
		if (count > atMost) socket.terminate();
	};
}

/** A message counts once, and once more for each time that it is so many characters long. */
const charactersATurn = 2048;
const turnsMs = 50;

/**
 * For messages none of which may be lost: what comes too fast waits for its turn, and meanwhile its socket is not read. So
 * no more can wait than what was read in one go. A class, as functions of its own would be much of a connection's memory.
 */
export class Pacer {
	readonly #socket: Readable;
	readonly #bucket: TokenBucket;
	readonly #onTurn: (text: string) => void;
	readonly #onPaused: () => void;
	#waiting: string[] = [];
	#timer: NodeJS.Timeout | undefined;
	#isClosed = false;

	/**
	 * @param onTurn a message's turn has come
	 * @param onPaused a message has to wait, and none did before
	 */
	constructor(socket: Readable, rate: Rate, onTurn: (text: string) => void, onPaused: () => void) {
		this.#socket = socket;
		this.#bucket = new TokenBucket(rate);
		this.#onTurn = onTurn;
		this.#onPaused = onPaused;
	}

	/** Hands a message on, at once or when its turn comes. */
	take(text: string): void {
		if (this.#isClosed) return;
		if (!this.#timer && this.#mayPass(text)) return this.#onTurn(text);
		this.#waiting.push(text);
		if (this.#timer) return;
		this.#plan();
		this.#socket.pause();
		this.#onPaused();
	}

	/** The other side has gone, and nothing more can come: hands on what waits, which it had said before. */
	finish(): void {
		const waiting = this.#waiting;
		this.close();
		for (const text of waiting) this.#onTurn(text);
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

/**
 * Rate limits for one socket, so that a client in a loop cannot keep the gateway busy or fill its log. A socket over
 * its rate is not read, and TCP slows down its sender.
 */

import type { WebSocket } from "ws";

type Readable = Pick<WebSocket, "pause" | "resume">;

export interface Rate {
	/** In the long run. */
	readonly perSecond: number;
	/** At once. */
	readonly burst: number;
	/** Monotonic clock, in milliseconds. */
	readonly monotonic: () => number;
}

/** A token bucket. */
export class TokenBucket {
	readonly #rate: Rate;
	#tokens: number;
	#filledAt: number;

	constructor(rate: Rate) {
		this.#rate = rate;
		this.#tokens = rate.burst;
		this.#filledAt = rate.monotonic();
	}

	/** Takes `cost` tokens; the count may become negative. @returns false if less than one was left */
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

/** @returns a function that counts an event at `now`, in milliseconds, and returns the count of the last 60 s */
export function createMinuteCounter(): (now: number) => number {
	let times: number[] = [];
	return (now) => {
		times = times.filter((time) => now - time < 60_000);
		return times.push(now);
	};
}

/**
 * Limits a socket's ping and pong frames, which other limits do not count.
 * @param onTooMany called for each frame over the rate
 */
export function watchControlFrames(socket: Pick<WebSocket, "on">, rate: Rate, onTooMany: () => void): void {
	const bucket = new TokenBucket(rate);
	const count = () => {
		if (!bucket.take()) onTooMany();
	};
	socket.on("ping", count);
	socket.on("pong", count);
}

/** @returns a function to call for each message after our close frame; more than `atMost` end the connection */
export function limitMessagesAfterClose(socket: Pick<WebSocket, "terminate">, atMost: number): () => void {
	let count = 0;
	return () => {
		count += 1;
		if (count > atMost) socket.terminate();
	};
}

/** A message costs 1, and 1 more per this many characters. */
const charactersATurn = 2048;
const turnsMs = 50;

/**
 * A throttle that loses no message: those over the rate wait, and the socket is paused meanwhile, so at most one
 * read's worth waits. A class, as closures would take much of a connection's memory.
 */
export class Throttle {
	readonly #socket: Readable;
	readonly #bucket: TokenBucket;
	readonly #onMessage: (text: string) => void;
	readonly #onPaused: () => void;
	#waiting: string[] = [];
	#timer: NodeJS.Timeout | undefined;
	#isClosed = false;

	/**
	 * @param onMessage passes on a message
	 * @param onPaused the first message has to wait
	 */
	constructor(socket: Readable, rate: Rate, onMessage: (text: string) => void, onPaused: () => void) {
		this.#socket = socket;
		this.#bucket = new TokenBucket(rate);
		this.#onMessage = onMessage;
		this.#onPaused = onPaused;
	}

	/** Passes on a message, now or later. */
	take(text: string): void {
		if (this.#isClosed) return;
		if (!this.#timer && this.#mayPass(text)) return this.#onMessage(text);
		this.#waiting.push(text);
		if (this.#timer) return;
		this.#plan();
		this.#socket.pause();
		this.#onPaused();
	}

	/** The peer has closed: passes on what waits. */
	finish(): void {
		const waiting = this.#waiting;
		this.close();
		for (const text of waiting) this.#onMessage(text);
	}

	/** Drops what waits or still comes, and reads the socket again, to receive the peer's close frame. */
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
		for (const text of passing) this.#onMessage(text);
		if (this.#waiting.length > 0) return this.#plan();
		this.#timer = undefined;
		this.#socket.resume();
	}

	#mayPass(text: string): boolean {
		return this.#bucket.take(1 + Math.floor(text.length / charactersATurn));
	}
}

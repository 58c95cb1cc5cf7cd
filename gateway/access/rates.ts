/** Rate limits by socket and by address, so that a client in a loop does not overload the gateway or flood its log. */

import type { IncomingMessage } from "node:http";
import type { WebSocket } from "ws";
import type { HttpRejection } from "../problem.js";
import { networkOf, remoteAddressOf } from "./origin.js";

type Readable = Pick<WebSocket, "pause" | "resume">;

export interface Rate {
	/** Long-term. */
	readonly perSecond: number;
	/** At once. */
	readonly burst: number;
	/** Monotonic, in milliseconds. */
	readonly monotonic: () => number;
}

/** A token bucket. */
export class TokenBucket {
	readonly #rate: Rate;
	// V8 keeps a field that began as a number in place; any other gets a new object with each fraction.
	#tokens = 0;
	#filledAt = 0;

	constructor(rate: Rate) {
		this.#rate = rate;
		this.#tokens = rate.burst;
		this.#filledAt = rate.monotonic();
	}

	/** The count may become negative. @param cost 0: check only @returns false if less than one token was left */
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

/** @returns a function that counts an event at `now` (milliseconds), and returns the count of the last 60 s */
export function createMinuteCounter(): (now: number) => number {
	let times: number[] = [];
	return (now) => {
		times = times.filter((time) => now - time < 60_000);
		return times.push(now);
	};
}

/** A message costs 1, and 1 more per this many bytes. */
const bytesATurn = 2048;
const turnsMs = 50;

/** The listener of a throttle: an object, since closures take more memory. */
export interface Throttled {
	onMessage(message: Buffer): void;
	/** The first message has to wait. */
	onPaused(): void;
}

/**
 * A throttle that loses no message: those over the rate wait, with the socket paused, so at most one read's worth
 * waits.
 */
export class Throttle {
	readonly #socket: Readable;
	readonly #bucket: TokenBucket;
	readonly #throttled: Throttled;
	#waiting: Buffer[] = [];
	#timer: NodeJS.Timeout | undefined;
	#isClosed = false;

	constructor(socket: Readable, rate: Rate, throttled: Throttled) {
		this.#socket = socket;
		this.#bucket = new TokenBucket(rate);
		this.#throttled = throttled;
	}

	take(message: Buffer): void {
		if (this.#isClosed) return;
		if (!this.#timer && this.#mayPass(message)) return this.#throttled.onMessage(message);
		this.#waiting.push(message);
		if (this.#timer) return;
		this.#plan();
		this.#socket.pause();
		this.#throttled.onPaused();
	}

	/** The peer has closed: passes on what waits. */
	finish(): void {
		const waiting = this.#waiting;
		this.close();
		for (const message of waiting) this.#throttled.onMessage(message);
	}

	/** Drops waiting and later messages, and reads the socket again, for the peer's close frame. */
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
		const stays = this.#waiting.findIndex((message) => !this.#mayPass(message));
		const passing = this.#waiting.splice(0, stays < 0 ? this.#waiting.length : stays);
		for (const message of passing) this.#throttled.onMessage(message);
		if (this.#waiting.length > 0) return this.#plan();
		this.#timer = undefined;
		this.#socket.resume();
	}

	#mayPass(message: Buffer): boolean {
		return this.#bucket.take(1 + Math.floor(message.length / bytesATurn));
	}
}

/** Others may share a flooding client's address. */
const mostAdvisedSeconds = 60;

/** Counts requests by address, in windows of a fixed length. */
export class AddressLimit {
	readonly #options: { readonly points: number; readonly seconds: number; readonly what: string };
	/** By kind and address, the first to end in front. */
	readonly #windows = new Map<string, { count: number; readonly endsAt: number }>();

	/** `points` in `seconds`; `what` is for messages, such as "wrong tokens". */
	constructor(options: { readonly points: number; readonly seconds: number; readonly what: string }) {
		this.#options = options;
	}

	/** @param kind counted separately @returns the rejection if it is over the limit */
	count(request: IncomingMessage, kind = ""): HttpRejection | undefined {
		const now = performance.now();
		for (const [key, { endsAt }] of this.#windows) {
			if (endsAt > now) break;
			this.#windows.delete(key);
		}
		const key = `${kind} ${networkOf(remoteAddressOf(request))}`;
		const { points, seconds, what } = this.#options;
		const window = this.#windows.get(key) ?? { count: 0, endsAt: now + seconds * 1000 };
		this.#windows.set(key, window);
		window.count += 1;
		if (window.count <= points) return undefined;
		// Spread, so that refused clients do not return at once.
		const windowsAhead = Math.floor((window.count - points - 1) / points);
		const advised = Math.ceil((window.endsAt - now) / 1000 + windowsAhead * seconds);
		const retrySeconds = Math.min(mostAdvisedSeconds, Math.max(1, advised));
		return {
			status: 429,
			detail: `Too many ${what} from this address; try again in ${retrySeconds} s.`,
			headers: { "Retry-After": String(retrySeconds) },
		};
	}
}

/** Rate limits by socket and by address, to protect the gateway and its log from clients in a loop. */

import type { IncomingMessage } from "node:http";
import type { WebSocket } from "ws";
import type { HttpRejection } from "../problem.js";
import { networkOf, remoteAddressOf } from "./origin.js";

type Readable = Pick<WebSocket, "pause" | "resume">;

export interface Rate {
	/** Sustained rate. */
	readonly perSecond: number;
	/** Maximum number of events at once. */
	readonly burst: number;
	/** Monotonic clock, in milliseconds. */
	readonly monotonic: () => number;
}

export class TokenBucket {
	readonly #rate: Rate;
	// Initialized with numbers, so that V8 stores fractions in place instead of allocating an object for each.
	#tokens = 0;
	#filledAt = 0;

	constructor(rate: Rate) {
		this.#rate = rate;
		this.#tokens = rate.burst;
		this.#filledAt = rate.monotonic();
	}

	/**
	 * Consumes tokens if at least one is left. Their number may become negative.
	 * @param cost 0: check only
	 * @returns false if less than one token was left
	 */
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

	/** Consumes tokens even if none is left. @returns false if less than one token was left */
	charge(cost: number): boolean {
		if (this.take(cost)) return true;
		this.#tokens -= cost;
		return false;
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

/** Number of bytes per token, in addition to the first token of a message. */
const bytesPerToken = 2048;
const retryMs = 50;

/**
 * Lossless throttle: pauses the socket after messages above the rate, until their tokens are refilled. Messages of the same
 * read, at most 64 KiB, are not delayed.
 */
export class Throttle {
	readonly #socket: Readable;
	readonly #bucket: TokenBucket;
	#timer: NodeJS.Timeout | undefined;

	constructor(socket: Readable, rate: Rate) {
		this.#socket = socket;
		this.#bucket = new TokenBucket(rate);
	}

	/** Counts a message. @returns whether it paused the socket */
	count(message: Buffer): boolean {
		const isWithinRate = this.#bucket.charge(1 + Math.floor(message.length / bytesPerToken));
		if (isWithinRate || this.#timer) return false;
		this.#socket.pause();
		this.#resumeLater();
		return true;
	}

	/** Resumes the socket, such as to read the peer's close frame. */
	resume(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#socket.resume();
	}

	#resumeLater(): void {
		const resume = () => (this.#bucket.take(0) ? this.resume() : this.#resumeLater());
		this.#timer = setTimeout(resume, retryMs).unref();
	}
}

/** Maximum of Retry-After, as other clients may share the address of a flooding one. */
const maxRetrySeconds = 60;

/** Limits requests by address, in fixed windows. */
export class AddressLimit {
	readonly #options: { readonly points: number; readonly seconds: number; readonly what: string };
	/** Windows by kind and address, the first to end first. */
	readonly #windows = new Map<string, { count: number; readonly endsAt: number }>();

	/** @param options `points` per `seconds`; `what` is a noun for messages, such as "wrong tokens" */
	constructor(options: { readonly points: number; readonly seconds: number; readonly what: string }) {
		this.#options = options;
	}

	/** Counts a request. @param kind counted separately @returns rejection if the limit is exceeded */
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
		// Distributes the retries of rejected clients over later windows.
		const windowsAhead = Math.floor((window.count - points - 1) / points);
		const advised = Math.ceil((window.endsAt - now) / 1000 + windowsAhead * seconds);
		const retrySeconds = Math.min(maxRetrySeconds, Math.max(1, advised));
		return {
			status: 429,
			detail: `Too many ${what} from this address. Try again in ${retrySeconds} s.`,
			headers: { "Retry-After": String(retrySeconds) },
		};
	}
}

/**
 * How often one address may do a thing. Without it a single client that loops, or guesses, keeps the gateway busy for
 * all others.
 */

import type { IncomingMessage } from "node:http";
import { RateLimiterMemory, type RateLimiterRes } from "rate-limiter-flexible";
import type { HttpRefusal } from "../problem.js";
import { networkOf, remoteAddressOf } from "./origin.js";

/** A client that floods must not send all others of its address away for long. */
const mostAdvisedSeconds = 60;

export class AddressLimit {
	readonly #limiter: RateLimiterMemory;
	readonly #what: string;

	/** `points` times in `seconds`; `what` is too much, for a sentence: "wrong tokens". */
	constructor({ points, seconds, what }: { points: number; seconds: number; what: string }) {
		this.#limiter = new RateLimiterMemory({ points, duration: seconds });
		this.#what = what;
	}

	/**
	 * Counts, and says whether it was too much.
	 *
	 * @param kind counted apart from other kinds
	 */
	async count(request: IncomingMessage, kind = ""): Promise<HttpRefusal | undefined> {
		return this.#refusalOf(await this.#limiter.penalty(keyOf(request, kind)));
	}

	#refusalOf(counted: RateLimiterRes): HttpRefusal | undefined {
		const { points, duration } = this.#limiter;
		if (counted.consumedPoints <= points) return undefined;
		// Those who are refused would otherwise all come back in the same moment, to be refused again.
		const windowsAhead = Math.floor((counted.consumedPoints - points - 1) / points);
		const advised = Math.ceil(counted.msBeforeNext / 1000 + windowsAhead * duration);
		const seconds = Math.min(mostAdvisedSeconds, Math.max(1, advised));
		return {
			status: 429,
			detail: `Too many ${this.#what} from this address; try again in ${seconds} s.`,
			headers: { "Retry-After": String(seconds) },
		};
	}
}

function keyOf(request: IncomingMessage, kind: string): string {
	return `${kind} ${networkOf(remoteAddressOf(request))}`;
}

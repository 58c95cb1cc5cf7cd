/** Rate limit by IP address, so that one client in a loop cannot keep the gateway busy. */

import type { IncomingMessage } from "node:http";
import { RateLimiterMemory, type RateLimiterRes } from "rate-limiter-flexible";
import type { HttpRefusal } from "../problem.js";
import { networkOf, remoteAddressOf } from "./origin.js";

/** Others who share a flooding client's address must not wait long. */
const mostAdvisedSeconds = 60;

export class AddressLimit {
	readonly #limiter: RateLimiterMemory;
	readonly #what: string;

	/** `points` in `seconds`; `what` is for messages, such as "wrong tokens". */
	constructor({ points, seconds, what }: { points: number; seconds: number; what: string }) {
		this.#limiter = new RateLimiterMemory({ points, duration: seconds });
		this.#what = what;
	}

	/** @param kind counted separately @returns the refusal if it is over the limit */
	async count(request: IncomingMessage, kind = ""): Promise<HttpRefusal | undefined> {
		return this.#refusalOf(await this.#limiter.penalty(keyOf(request, kind)));
	}

	#refusalOf(counted: RateLimiterRes): HttpRefusal | undefined {
		const { points, duration } = this.#limiter;
		if (counted.consumedPoints <= points) return undefined;
		// Spread, or all who are refused would come back at once.
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

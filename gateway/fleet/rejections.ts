/** Latest rejected connections and dropped reports, in memory. A rejected device cannot report its problem itself. */

import { idOf } from "../digest.js";
import type { Rejection } from "../sessions/sessions.js";

export interface CountedRejection extends Rejection {
	/** Equal for repetitions of a rejection. */
	readonly id: string;
	count: number;
	/** Milliseconds since 1970. */
	readonly firstAt: number;
	lastAt: number;
	/** Whether it was marked as seen and not repeated since. */
	seen: boolean;
}

const maxKept = 50;
/** Limit per address, so that one address cannot displace all others. */
const maxPerAddress = 20;

export class Rejections {
	readonly #now: () => number;
	/** Rejections by key, latest last. */
	readonly #rejections = new Map<string, CountedRejection>();

	readonly #onChanged: () => void;

	/** @param now returns milliseconds since 1970 */
	constructor(now: () => number, onChanged = () => {}) {
		this.#now = now;
		this.#onChanged = onChanged;
	}

	/** Adds a rejection, or counts a repetition. */
	add(rejection: Rejection): void {
		const { what, deviceId, remoteAddress, reason } = rejection;
		const key = JSON.stringify([what, deviceId, remoteAddress, reason]);
		const now = this.#now();
		const counted = this.#rejections.get(key) ?? {
			...rejection,
			id: idOf(key),
			count: 0,
			firstAt: now,
			lastAt: now,
			seen: false,
		};
		counted.count += 1;
		counted.lastAt = now;
		counted.seen = false;
		this.#rejections.delete(key);
		this.#rejections.set(key, counted);
		const all = [...this.#rejections];
		const ofAddress = all.filter(([, other]) => other.remoteAddress === remoteAddress);
		const [surplus] = [...ofAddress.slice(0, -maxPerAddress), ...all.slice(0, -maxKept)];
		if (surplus) this.#rejections.delete(surplus[0]);
		this.#onChanged();
	}

	/** Marks a rejection as seen unless it was repeated after `lastAt`, in milliseconds since 1970. */
	see(id: string, lastAt: number): void {
		for (const counted of this.#rejections.values())
			if (counted.id === id && counted.lastAt <= lastAt) counted.seen = true;
		this.#onChanged();
	}

	/** Returns all rejections, latest first. */
	list(): readonly Readonly<CountedRejection>[] {
		return [...this.#rejections.values()].reverse();
	}
}

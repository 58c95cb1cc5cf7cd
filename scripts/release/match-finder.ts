/** Search of repeated byte sequences by hash chains, as in zlib's deflate. */

const hashBits = 17;
/** Maximum number of positions compared per search. */
const maxTries = 64;

export class MatchFinder {
	readonly #bytes: Uint8Array;
	readonly #minLength: number;
	/** Latest position of each hash; -1 without one. */
	readonly #latest = new Int32Array(1 << hashBits).fill(-1);
	/** Previous position with the same hash, for each position. */
	readonly #previous: Int32Array;
	#added = 0;

	/** @param bytes searched bytes @param minLength minimum length of a match */
	constructor(bytes: Uint8Array, minLength: number) {
		this.#bytes = bytes;
		this.#minLength = minLength;
		this.#previous = new Int32Array(bytes.length);
	}

	/** Adds all positions before `end` to those that are searched. */
	addUntil(end: number): void {
		for (; this.#added < end; this.#added++) {
			const hash = this.#hash(this.#bytes, this.#added);
			this.#previous[this.#added] = this.#latest[hash] ?? -1;
			this.#latest[hash] = this.#added;
		}
	}

	/**
	 * Finds the longest match of `wanted` at `from`; of equal ones, the latest.
	 * @param earliest first position searched
	 * @returns length 0 if none was found
	 */
	find(wanted: Uint8Array, from: number, maxLength: number, earliest = 0) {
		const bytes = this.#bytes;
		let [position, length] = [0, 0];
		let candidate = this.#latest[this.#hash(wanted, from)] ?? -1;
		for (let tries = 0; candidate >= earliest && tries < maxTries; tries++) {
			const most = Math.min(maxLength, bytes.length - candidate, wanted.length - from);
			let equal = 0;
			while (equal < most && bytes[candidate + equal] === wanted[from + equal]) equal++;
			if (equal >= this.#minLength && equal > length) [position, length] = [candidate, equal];
			if (length === maxLength) break;
			candidate = this.#previous[candidate] ?? -1;
		}
		return { position, length };
	}

	/** FNV-1a, multiplied again, as its high bits depend little on the last bytes. */
	#hash(bytes: Uint8Array, from: number): number {
		let hash = 0x811c9dc5;
		for (let at = from; at < from + this.#minLength; at++)
			hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
		return Math.imul(hash, 0x9e3779b1) >>> (32 - hashBits);
	}
}

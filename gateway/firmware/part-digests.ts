/** SHA-256 of the parts of a file in memory. Devices ask all for the same blocks: each block's is made once. */

import { createHash } from "node:crypto";

/** Only parts that begin and end on such a boundary are remembered, so that odd ones cannot fill the memory. */
const alignment = 4096;

export class PartDigests {
	readonly #bytes: Uint8Array;
	/** By "first-last". */
	readonly #known = new Map<string, Buffer>();

	constructor(bytes: Uint8Array) {
		this.#bytes = bytes;
	}

	/** @param last byte, included */
	of(first: number, last: number): Buffer {
		const key = `${first}-${last}`;
		const known = this.#known.get(key);
		if (known) return known;
		const end = last + 1;
		const digest = createHash("sha256").update(this.#bytes.subarray(first, end)).digest();
		const isBlock = first % alignment === 0 && (end % alignment === 0 || end === this.#bytes.length);
		if (isBlock && this.#known.size < this.#bytes.length / alignment) this.#known.set(key, digest);
		return digest;
	}
}

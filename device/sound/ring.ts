/**
 * Ring buffer of samples, allocated once. Consumed samples stay until they are released, so that a paused sound continues
 * where it was heard, not where it was written to the output. Positions are byte offsets in the sound.
 */
export class Ring {
	readonly #bytes: Uint8Array;
	#added = 0;
	#taken = 0;
	#released = 0;

	/** @param byteLength even */
	constructor(byteLength: number) {
		this.#bytes = new Uint8Array(byteLength);
	}

	/** Bytes that can be added. */
	get free(): number {
		return this.#bytes.byteLength - (this.#added - this.#released);
	}

	/** Bytes added but not consumed. */
	get available(): number {
		return this.#added - this.#taken;
	}

	/** Position of what is taken next. */
	get taken(): number {
		return this.#taken;
	}

	/** Empties the buffer. @param position of the next byte to add; even */
	clear(position = 0): void {
		this.#added = position;
		this.#taken = position;
		this.#released = position;
	}

	/** @returns where the next bytes go, at most `most`; empty where it is full. Fill it, then call add(). */
	space(most: number): Uint8Array {
		return this.#view(this.#added, Math.min(most, this.free));
	}

	add(byteCount: number): void {
		this.#added += byteCount;
	}

	/** Takes whole samples, at most `most` bytes; fewer at the end of the memory. Valid until they are released. */
	take(most: number): Uint8Array {
		const bytes = this.#view(this.#taken, Math.min(most, this.available) & ~1);
		this.#taken += bytes.byteLength;
		return bytes;
	}

	/** Frees the samples before `position`, which must be even. */
	release(position: number): void {
		if (position > this.#released) this.#released = Math.min(position, this.#taken);
	}

	/** Moves the read position back to `position`, which must be even, or to the first sample that is not released. */
	rewind(position: number): void {
		this.#taken = Math.max(this.#released, Math.min(position, this.#taken));
	}

	#view(position: number, byteCount: number): Uint8Array {
		const start = position % this.#bytes.byteLength;
		return this.#bytes.subarray(start, Math.min(this.#bytes.byteLength, start + byteCount));
	}
}

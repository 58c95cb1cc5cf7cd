/**
 * Ring buffer of samples, allocated once. Consumed samples stay until they are released, so that a paused sound continues
 * where it was heard, not where it was written to the output. Positions are byte offsets in the sound.
 */
export class Ring {
	readonly #bytes: Uint8Array;
	#added = 0;
	#consumed = 0;
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
		return this.#added - this.#consumed;
	}

	/** Position of the next byte to consume. */
	get consumed(): number {
		return this.#consumed;
	}

	/** Empties the buffer. @param position of the next byte to add; even */
	clear(position = 0): void {
		this.#added = position;
		this.#consumed = position;
		this.#released = position;
	}

	/** @returns a view to write at most `maxBytes` to, followed by add(); empty if the buffer is full */
	reserve(maxBytes: number): Uint8Array {
		return this.#view(this.#added, Math.min(maxBytes, this.free));
	}

	add(byteCount: number): void {
		this.#added += byteCount;
	}

	/** Consumes whole samples, at most `maxBytes`; fewer at the wrap-around. @returns a view, valid until released */
	consume(maxBytes: number): Uint8Array {
		const bytes = this.#view(this.#consumed, Math.min(maxBytes, this.available) & ~1);
		this.#consumed += bytes.byteLength;
		return bytes;
	}

	/** Frees the samples before `position`, which must be even. */
	release(position: number): void {
		if (position > this.#released) this.#released = Math.min(position, this.#consumed);
	}

	/** Moves the read position back to `position`, which must be even, or to the first sample that is not released. */
	rewind(position: number): void {
		this.#consumed = Math.max(this.#released, Math.min(position, this.#consumed));
	}

	#view(position: number, byteCount: number): Uint8Array {
		const start = position % this.#bytes.byteLength;
		return this.#bytes.subarray(start, Math.min(this.#bytes.byteLength, start + byteCount));
	}
}

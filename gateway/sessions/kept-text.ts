/**
 * A text that is replaced often and read seldom, such as a device's latest report. It lives outside of V8's heap, in
 * memory that the next text uses again: as a string each would be moved among what V8 takes for long-lived, and be garbage
 * there a moment later, which costs a marking of the whole heap every few seconds.
 */

/** In bytes: texts that differ a little in length fit into the same memory. */
const stepBytes = 128;

export class KeptText {
	#memory: Buffer | undefined;
	#length = 0;

	/** What was last set; undefined before. */
	get text(): string | undefined {
		return this.#memory?.toString("utf8", 0, this.#length);
	}

	/** Replaces it. @param text well-formed Unicode, such as a WebSocket's text frame */
	set(text: string): void {
		const length = Buffer.byteLength(text);
		const size = Math.ceil((length + 1) / stepBytes) * stepBytes;
		if (this.#memory === undefined || this.#memory.length < length || this.#memory.length > 2 * size)
			this.#memory = Buffer.allocUnsafeSlow(size);
		this.#length = this.#memory.write(text);
	}
}

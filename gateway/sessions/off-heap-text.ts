/**
 * An off-heap text buffer, for text that is often replaced, such as a device's latest report: strings would become
 * garbage among V8's long-lived objects, and cause a mark of the whole heap every few seconds. At 10,000 devices
 * (`npm run bench -- relay`) a report costs 27 µs with it and 55 with strings.
 */

/** In bytes: texts of similar length reuse the memory. */
const stepBytes = 128;

export class OffHeapText {
	#memory: Buffer | undefined;
	#length = 0;

	/** Undefined before the first `set`. */
	get text(): string | undefined {
		return this.#memory?.toString("utf8", 0, this.#length);
	}

	clear(): void {
		this.#memory = undefined;
	}

	/** @param text in UTF-8; copied */
	set(text: Buffer): void {
		const { length } = text;
		const size = Math.ceil((length + 1) / stepBytes) * stepBytes;
		if (this.#memory === undefined || this.#memory.length < length || this.#memory.length > 2 * size)
			this.#memory = Buffer.allocUnsafeSlow(size);
		this.#length = text.copy(this.#memory);
	}
}

/**
 * Off-heap buffer for text that is replaced often, such as a device's latest report. Strings would become garbage in V8's
 * old generation, and cause a mark of the whole heap every few seconds. With 10,000 devices (`npm run bench -- relay`) a
 * report costs 27 µs, instead of 55 with strings.
 */

/** Granularity of allocations, so that texts of similar length reuse the memory. */
const stepBytes = 128;

export class OffHeapText {
	#memory: Buffer | undefined;
	#length = 0;

	/** Current text; undefined before the first `set`. */
	get text(): string | undefined {
		return this.#memory?.toString("utf8", 0, this.#length);
	}

	clear(): void {
		this.#memory = undefined;
	}

	/** Copies a text. @param text UTF-8 */
	set(text: Buffer): void {
		const { length } = text;
		const size = Math.ceil((length + 1) / stepBytes) * stepBytes;
		if (this.#memory === undefined || this.#memory.length < length || this.#memory.length > 2 * size)
			this.#memory = Buffer.allocUnsafeSlow(size);
		this.#length = text.copy(this.#memory);
	}
}

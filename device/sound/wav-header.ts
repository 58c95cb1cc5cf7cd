/**
 * Reads the header of a WAV file (RIFF) piece by piece, up to the first sample. Only what the output plays is accepted,
 * so that nothing is converted on the device; each refusal names what the file is.
 */

/** Hz; signed 16 bits, mono. */
export const sampleRate = 16_000;
/** Of the file, before its samples: a tag with a picture is refused. */
const longestHeaderBytes = 16 * 1024;

const riffBytes = 12;
const chunkHeadBytes = 8;
/** Of the chunk `fmt ` with its sub-format (WAVEFORMATEXTENSIBLE). */
const formatBytes = 26;
const shortestFormatBytes = 16;

const pcm = 1;
const extensible = 0xfffe;

/** How files that are no WAV begin. */
const otherFormats = Object.freeze([
	format("RIFX", "a WAV with its bytes in the other order"),
	format("RF64", "a WAV of the 64-bit kind"),
	format("ID3", "an MP3"),
	format("\xff\xfb", "an MP3"),
	format("\xff\xf1", "an AAC"),
	format("OggS", "an Ogg"),
	format("fLaC", "a FLAC"),
	format("FORM", "an AIFF"),
	format("<", "HTML"),
	format("{", "JSON"),
]);

export class WavHeader {
	readonly #field = new Uint8Array(formatBytes);
	#filled = 0;
	/** Of the field that is being read. */
	#wanted = riffBytes;
	#state: "riff" | "chunk" | "format" | "data" = "riff";
	/** Bytes that are skipped next. */
	#skip = 0;
	/** Of the chunk `fmt `, after its field. */
	#rest = 0;
	#byteCount = 0;
	#isFormatKnown = false;
	#dataBytes = 0;

	/** Whether the samples follow. */
	get isWhole(): boolean {
		return this.#state === "data";
	}

	/** Of the samples, once the header is whole. */
	get dataBytes(): number {
		return this.#dataBytes;
	}

	/** How many bytes write() takes next, at most; 0 once the header is whole. */
	get wantedBytes(): number {
		if (this.isWhole) return 0;
		return this.#skip || this.#wanted - this.#filled;
	}

	/**
	 * @param bytes at least one, at most `wantedBytes`
	 * @throws Error whose message is a sentence that says what the file is
	 */
	write(bytes: Uint8Array): void {
		this.#byteCount += bytes.byteLength;
		if (this.#byteCount > longestHeaderBytes)
			throw new Error(`The WAV file has more than ${longestHeaderBytes} bytes before its samples.`);
		if (this.#skip > 0) {
			this.#skip -= bytes.byteLength;
			return;
		}
		this.#field.set(bytes, this.#filled);
		this.#filled += bytes.byteLength;
		if (this.#filled < this.#wanted) return;
		this.#filled = 0;
		this.#onField();
	}

	#onField(): void {
		switch (this.#state) {
			case "riff":
				if (this.#text(0) !== "RIFF" || this.#text(8) !== "WAVE") throw new Error(this.#describeOther());
				return this.#await("chunk", chunkHeadBytes);
			case "chunk":
				return this.#onChunk(this.#text(0), this.#uint32(4));
			case "format":
				this.#checkFormat();
				this.#isFormatKnown = true;
				this.#skip = this.#rest;
				return this.#await("chunk", chunkHeadBytes);
			case "data":
				return;
		}
	}

	#onChunk(name: string, byteLength: number): void {
		// Chunks begin at even offsets.
		const paddedBytes = byteLength + (byteLength & 1);
		if (name === "fmt ") {
			if (byteLength < shortestFormatBytes) throw new Error("The WAV file's format is cut short.");
			this.#field.fill(0);
			this.#await("format", Math.min(byteLength, formatBytes));
			this.#rest = paddedBytes - this.#wanted;
			return;
		}
		if (name !== "data") {
			this.#skip = paddedBytes;
			return;
		}
		if (!this.#isFormatKnown) throw new Error("The WAV file has samples before their format.");
		if (byteLength === 0) throw new Error("The WAV file has no samples.");
		if (byteLength % 2 !== 0) throw new Error("The WAV file ends within a sample.");
		this.#dataBytes = byteLength;
		this.#state = "data";
	}

	#checkFormat(): void {
		const tag = this.#uint16(0);
		const channels = this.#uint16(2);
		const rate = this.#uint32(4);
		const bits = this.#uint16(14);
		const format = tag === extensible ? this.#uint16(24) : tag;
		if (format === pcm && channels === 1 && rate === sampleRate && bits === 16) return;
		const kind = format === pcm ? "" : `, not PCM (format ${format})`;
		throw new Error(
			`The sound is ${rate} Hz, ${describeChannels(channels)}, ${bits} bit${kind}; it must be a WAV of ${sampleRate} Hz, mono, 16 bit PCM.`,
		);
	}

	#await(state: "chunk" | "format", byteCount: number): void {
		this.#state = state;
		this.#wanted = byteCount;
	}

	#describeOther(): string {
		const start = String.fromCharCode(...this.#field.subarray(0, riffBytes));
		const known = otherFormats.find(({ magic }) => start.trimStart().startsWith(magic));
		return `At this address is ${known?.kind ?? "something else"} and not a WAV.`;
	}

	#text(at: number): string {
		return String.fromCharCode(...this.#field.subarray(at, at + 4));
	}

	#uint16(at: number): number {
		return (this.#field[at] ?? 0) | ((this.#field[at + 1] ?? 0) << 8);
	}

	#uint32(at: number): number {
		return this.#uint16(at) + this.#uint16(at + 2) * 65_536;
	}
}

function describeChannels(count: number): string {
	if (count === 1) return "mono";
	return count === 2 ? "stereo" : `${count} channels`;
}

function format(magic: string, kind: string) {
	return Object.freeze({ magic, kind });
}

/** Incremental parser of the header of a WAV file (RIFF), up to the first sample. Errors name the actual format. */

import { sampleRate } from "../peripherals/track.js";
import { nameFormat } from "./file-format.js";

const riffBytes = 12;
const chunkHeadBytes = 8;
/** Length of the chunk `fmt ` up to its sub-format (WAVEFORMATEXTENSIBLE). */
const formatBytes = 26;
const minFormatBytes = 16;

const pcm = 1;
const extensible = 0xfffe;

export interface WavFormat {
	readonly isPcm: boolean;
	readonly channels: number;
	/** Hertz. */
	readonly rate: number;
	/** Bits per sample. */
	readonly bits: number;
}

/** Format that a file must have. */
export interface AcceptedFormat {
	/** Name for errors, e.g. "a WAV of 16000 Hz". */
	readonly name: string;
	readonly accepts: (format: WavFormat) => boolean;
	/** Maximum number of bytes before the samples. */
	readonly headerBytes: number;
}

/** Format of the output, since the device does not convert. The header limit excludes tags with pictures. */
const playable: AcceptedFormat = Object.freeze({
	name: `a WAV of ${sampleRate} Hz, mono, 16 bit PCM`,
	accepts: ({ isPcm, channels, rate, bits }: WavFormat) =>
		isPcm && channels === 1 && rate === sampleRate && bits === 16,
	headerBytes: 16 * 1024,
});

export class WavHeader {
	readonly #accepted: AcceptedFormat;
	readonly #field = new Uint8Array(formatBytes);
	#filled = 0;
	/** Length of the field being read. */
	#fieldBytes = riffBytes;
	#state: "riff" | "chunk" | "format" | "data" = "riff";
	/** Bytes to skip. */
	#skip = 0;
	/** Bytes of the chunk `fmt ` after the field. */
	#rest = 0;
	#byteCount = 0;
	#format: WavFormat | undefined;
	/** Length in the header of the chunk `data`. */
	#dataBytes = 0;

	constructor(accepted = playable) {
		this.#accepted = accepted;
	}

	/** Whether the header is complete. */
	get isWhole(): boolean {
		return this.#state === "data";
	}

	/** Undefined until the chunk `fmt ` was read. */
	get format(): WavFormat | undefined {
		return this.#format;
	}

	/**
	 * Returns the length of the samples, once the header is complete. A length of 0 or beyond the end of the file means up
	 * to the end: programs that write to a pipe do not know the length, and write 0, 0x7ffff000, 0xffffffff or the like.
	 * @param available bytes from the first sample to the end of the file
	 * @returns bytes of whole samples of 16 bits
	 */
	sampleBytes(available: number): number {
		const byteCount = this.#dataBytes === 0 ? available : Math.min(this.#dataBytes, available);
		return byteCount - (byteCount % 2);
	}

	/** Maximum length of the next write(); 0 once the header is complete. */
	get neededBytes(): number {
		if (this.isWhole) return 0;
		return this.#skip || this.#fieldBytes - this.#filled;
	}

	/**
	 * @param bytes at least one, at most `neededBytes`
	 * @throws Error whose message names the format of the file
	 */
	write(bytes: Uint8Array): void {
		this.#byteCount += bytes.byteLength;
		const { headerBytes } = this.#accepted;
		if (this.#byteCount > headerBytes)
			throw new Error(`The WAV file has more than ${headerBytes} bytes before its samples.`);
		if (this.#skip > 0) {
			this.#skip -= bytes.byteLength;
			return;
		}
		this.#field.set(bytes, this.#filled);
		this.#filled += bytes.byteLength;
		if (this.#filled < this.#fieldBytes) return;
		this.#filled = 0;
		this.#onField();
	}

	#onField(): void {
		switch (this.#state) {
			case "riff":
				if (this.#text(0) !== "RIFF" || this.#text(8) !== "WAVE") this.#rejectFile();
				return this.#await("chunk", chunkHeadBytes);
			case "chunk":
				return this.#onChunk(this.#text(0), this.#uint32(4));
			case "format":
				this.#onFormat();
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
			if (byteLength < minFormatBytes) throw new Error("The WAV file's chunk fmt is truncated.");
			this.#field.fill(0);
			this.#await("format", Math.min(byteLength, formatBytes));
			this.#rest = paddedBytes - this.#fieldBytes;
			return;
		}
		if (name !== "data") {
			this.#skip = paddedBytes;
			return;
		}
		if (!this.#format) throw new Error("The WAV file has samples before the chunk fmt.");
		this.#dataBytes = byteLength;
		this.#state = "data";
	}

	#onFormat(): void {
		const tag = this.#uint16(0);
		const code = tag === extensible ? this.#uint16(24) : tag;
		const channels = this.#uint16(2);
		const rate = this.#uint32(4);
		const bits = this.#uint16(14);
		this.#format = { isPcm: code === pcm, channels, rate, bits };
		const { accepts, name } = this.#accepted;
		if (accepts(this.#format)) return;
		const kind = code === pcm ? "" : `, not PCM (format ${code})`;
		throw new Error(
			`The sound is ${rate} Hz, ${describeChannels(channels)}, ${bits} bit${kind}; it must be ${name}.`,
		);
	}

	#await(state: "chunk" | "format", byteCount: number): void {
		this.#state = state;
		this.#fieldBytes = byteCount;
	}

	/** @throws Error */
	#rejectFile(): never {
		const kind = nameFormat(this.#field) ?? "not a WAV";
		throw new Error(`The file is ${kind}; it must be ${this.#accepted.name}.`);
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

/** Validates WAV files with the parser of the devices, also while they arrive. */

import { messageOf } from "../../device/message-of.js";
import { sampleRate } from "../../device/peripherals/track.js";
import { WavHeader } from "../../device/sound/wav-header.js";
import { maxSoundSeconds } from "../api/announcement.js";

/** 16 bit, mono. */
const bytesPerSecond = sampleRate * 2;

/**
 * @returns number of bytes that belong to the header; the rest are samples
 * @throws {Error} like the header
 */
export function writeHeader(header: WavHeader, bytes: Uint8Array): number {
	let at = 0;
	while (at < bytes.length && !header.isWhole) {
		const piece = bytes.subarray(at, at + header.neededBytes);
		header.write(piece);
		at += piece.length;
	}
	return at;
}

/** Error with a message for users. */
export class WavError extends Error {}

export class WavCheck {
	readonly #header = new WavHeader();
	/** Number of bytes from the first sample on. */
	#byteCount = 0;

	/** @throws {WavError} */
	write(chunk: Uint8Array): void {
		try {
			this.#byteCount += chunk.length - writeHeader(this.#header, chunk);
		} catch (error) {
			throw new WavError(messageOf(error));
		}
		if (this.#seconds > maxSoundSeconds)
			throw new WavError(`The sound is longer than ${maxSoundSeconds} s. Shorten it.`);
	}

	/**
	 * @returns length in seconds
	 * @throws {WavError}
	 */
	end(): number {
		if (!this.#header.isWhole) throw new WavError("The file ends before the first sample. Send a WAV file.");
		if (this.#seconds === 0) throw new WavError("The WAV file has no samples.");
		return this.#seconds;
	}

	/** Length of the samples received so far. */
	get #seconds(): number {
		return this.#header.isWhole ? this.#header.sampleBytes(this.#byteCount) / bytesPerSecond : 0;
	}
}

/** Checks a WAV file while it arrives, with the parser of the devices that will play it. */

import { sampleRate, WavHeader } from "../../device/sound/wav-header.js";
import { longestSeconds } from "../api/announcement.js";

/** 16 bits, mono. */
const bytesPerSecond = sampleRate * 2;

/** Its message is a sentence for a person. */
export class WavError extends Error {}

export class WavCheck {
	readonly #header = new WavHeader();
	/** From the first sample on. */
	#byteCount = 0;

	/** @throws {WavError} */
	write(chunk: Uint8Array): void {
		let at = 0;
		while (at < chunk.length && !this.#header.isWhole) {
			const end = Math.min(chunk.length, at + this.#header.wantedBytes);
			try {
				this.#header.write(chunk.subarray(at, end));
			} catch (error) {
				throw new WavError(error instanceof Error ? error.message : String(error));
			}
			at = end;
		}
		this.#byteCount += chunk.length - at;
		if (this.#seconds > longestSeconds)
			throw new WavError(`The sound is longer than ${longestSeconds} s; shorten it.`);
	}

	/** @returns its length in seconds @throws {WavError} */
	end(): number {
		if (!this.#header.isWhole) throw new WavError("The file ends before the first sample; send a WAV file.");
		if (this.#seconds === 0) throw new WavError("The WAV file has no samples.");
		return this.#seconds;
	}

	/** Of what has arrived. */
	get #seconds(): number {
		return this.#header.isWhole ? this.#header.sampleBytes(this.#byteCount) / bytesPerSecond : 0;
	}
}

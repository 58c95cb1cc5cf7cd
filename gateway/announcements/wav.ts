/** Checks a WAV file while it arrives, with the parser of the devices that will play it. */

import { sampleRate, WavHeader } from "../../device/sound/wav-header.js";
import { longestSeconds } from "../api/announcement.js";

/** 16 bits, mono. */
const bytesPerSample = 2;

/** Its message is a sentence for a person. */
export class WavError extends Error {}

export class WavCheck {
	readonly #header = new WavHeader();
	/** Of samples. */
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
		if (this.#header.isWhole && this.#header.dataBytes > longestSeconds * sampleRate * bytesPerSample)
			throw new WavError(`The sound is longer than ${longestSeconds} s; shorten it.`);
	}

	/** @returns its length in seconds @throws {WavError} */
	end(): number {
		const { isWhole, dataBytes } = this.#header;
		if (!isWhole) throw new WavError("The file ends before the first sample; send a WAV file.");
		if (this.#byteCount < dataBytes)
			throw new WavError(
				`The file has ${this.#byteCount} of the ${dataBytes} bytes of samples that it announces.`,
			);
		return dataBytes / bytesPerSample / sampleRate;
	}
}

/** Validates WAV files with the parser of the devices. */

import { messageOf } from "../../device/message-of.js";
import { sampleRate } from "../../device/peripherals/track.js";
import { WavHeader } from "../../device/sound/wav-header.js";
import { maxSoundSeconds } from "../api/announcement.js";
import { RequestError } from "../problem.js";

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

/** @returns length of a WAV file in seconds @throws {RequestError} 422 if devices cannot play it */
export function secondsOf(file: Uint8Array): number {
	const header = new WavHeader();
	const reject = (detail: string) => new RequestError(422, detail);
	let samplesAt = 0;
	try {
		samplesAt = writeHeader(header, file);
	} catch (error) {
		throw reject(messageOf(error));
	}
	if (!header.isWhole) throw reject("The file ends before the first sample. Send a WAV file.");
	const seconds = header.sampleBytes(file.length - samplesAt) / bytesPerSecond;
	if (seconds === 0) throw reject("The WAV file has no samples.");
	if (seconds > maxSoundSeconds) throw reject(`The sound is longer than ${maxSoundSeconds} s. Shorten it.`);
	return seconds;
}

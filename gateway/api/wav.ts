/** Writes WAV files as devices play them: PCM of 16 bits, little-endian, one channel. */

import { sampleRate } from "../../device/peripherals/track.js";

/** The names of its chunks, as numbers of 32 bits. */
const [riff, wave, fmt, data] = [0x46464952, 0x45564157, 0x20746d66, 0x61746164] as const;

/** @param sampleCount of `sampleRate` @returns the 44 bytes before the samples */
export function wavHead(sampleCount: number): Uint8Array<ArrayBuffer> {
	const bytes = sampleCount * 2;
	const format = [0x0001_0001, sampleRate, sampleRate * 2, 0x0010_0002];
	return new Uint8Array(Uint32Array.of(riff, 36 + bytes, wave, fmt, 16, ...format, data, bytes).buffer);
}

/** @param samples from -1 to 1; what is beyond is cut off */
export function encodeSamples(samples: ArrayLike<number>): Uint8Array<ArrayBuffer> {
	const encoded = new Int16Array(samples.length);
	for (let index = 0; index < samples.length; index += 1)
		encoded[index] = Math.max(-32_768, Math.min(32_767, Math.round((samples[index] ?? 0) * 32_768)));
	return new Uint8Array(encoded.buffer);
}

/** @param samples of `sampleRate`, from -1 to 1 */
export function writeWav(samples: ArrayLike<number>): Uint8Array<ArrayBuffer> {
	const head = wavHead(samples.length);
	const file = new Uint8Array(head.length + samples.length * 2);
	file.set(head);
	file.set(encodeSamples(samples), head.length);
	return file;
}

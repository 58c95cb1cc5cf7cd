/** Encoder of WAV files for devices: 16-bit PCM, little-endian, mono. */

import { sampleRate } from "../../device/peripherals/track.js";

/** Names of chunks, as 32-bit numbers. */
const [riff, wave, fmt, data] = [0x46464952, 0x45564157, 0x20746d66, 0x61746164] as const;

/** Returns the header of 44 bytes. @param sampleCount at `sampleRate` */
export function wavHead(sampleCount: number): Uint8Array<ArrayBuffer> {
	const bytes = sampleCount * 2;
	const format = [0x0001_0001, sampleRate, sampleRate * 2, 0x0010_0002];
	return new Uint8Array(Uint32Array.of(riff, 36 + bytes, wave, fmt, 16, ...format, data, bytes).buffer);
}

/** @param samples from -1 to 1, clipped */
export function encodeSamples(samples: ArrayLike<number>): Uint8Array<ArrayBuffer> {
	const encoded = new Int16Array(samples.length);
	for (let index = 0; index < samples.length; index += 1)
		encoded[index] = Math.max(-32_768, Math.min(32_767, Math.round((samples[index] ?? 0) * 32_768)));
	return new Uint8Array(encoded.buffer);
}

/** @param samples at `sampleRate`, from -1 to 1 */
export function writeWav(samples: ArrayLike<number>): Uint8Array<ArrayBuffer> {
	const head = wavHead(samples.length);
	const file = new Uint8Array(head.length + samples.length * 2);
	file.set(head);
	file.set(encodeSamples(samples), head.length);
	return file;
}

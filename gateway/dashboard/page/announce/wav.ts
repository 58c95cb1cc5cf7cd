/** A WAV file as devices play it: PCM of 16 bits, one channel. */

/** Hz; as device/sound/wav-header.ts has it, which the page does not need otherwise. */
export const sampleRate = 16_000;

/** The letters of its chunks, as numbers of 32 bits. */
const [riff, wave, fmt, data] = [0x46464952, 0x45564157, 0x20746d66, 0x61746164] as const;

/** @param samples of `sampleRate`, from -1 to 1 */
export function writeWav(samples: Float32Array): Uint8Array<ArrayBuffer> {
	const bytes = samples.length * 2;
	const format = [0x0001_0001, sampleRate, sampleRate * 2, 0x0010_0002];
	const head = Uint32Array.of(riff, 36 + bytes, wave, fmt, 16, ...format, data, bytes);
	const body = Int16Array.from(samples, (sample) =>
		Math.max(-32_768, Math.min(32_767, Math.round(sample * 32_768))),
	);
	const file = new Uint8Array(head.byteLength + bytes);
	file.set(new Uint8Array(head.buffer));
	file.set(new Uint8Array(body.buffer), head.byteLength);
	return file;
}

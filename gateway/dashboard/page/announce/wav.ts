/** A WAV file as devices play it: PCM of 16 bits, one channel. */

/** Hz; as device/sound/wav-header.ts has it, which the page does not need otherwise. */
export const sampleRate = 16_000;

const headBytes = 44;

/** @param samples of `sampleRate`, from -1 to 1 */
export function writeWav(samples: Float32Array): Uint8Array<ArrayBuffer> {
	const file = new DataView(new ArrayBuffer(headBytes + samples.length * 2));
	const name = (at: number, text: string) => {
		for (let index = 0; index < text.length; index += 1) file.setUint8(at + index, text.charCodeAt(index));
	};
	name(0, "RIFF");
	file.setUint32(4, file.byteLength - 8, true);
	name(8, "WAVEfmt ");
	file.setUint32(16, 16, true);
	file.setUint16(20, 1, true);
	file.setUint16(22, 1, true);
	file.setUint32(24, sampleRate, true);
	file.setUint32(28, sampleRate * 2, true);
	file.setUint16(32, 2, true);
	file.setUint16(34, 16, true);
	name(36, "data");
	file.setUint32(40, samples.length * 2, true);
	for (const [index, sample] of samples.entries())
		file.setInt16(
			headBytes + index * 2,
			Math.max(-32_768, Math.min(32_767, Math.round(sample * 32_768))),
			true,
		);
	return new Uint8Array(file.buffer);
}

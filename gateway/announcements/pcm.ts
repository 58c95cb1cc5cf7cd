/** PCM samples: read from a WAV file of any rate, brought to the devices' rate, and written as a WAV file. */

import { sampleRate } from "../../device/sound/wav-header.js";

const headBytes = 44;

/** One channel, from -1 to 1. */
export interface Pcm {
	/** Hz. */
	readonly rate: number;
	readonly samples: Float32Array;
}

/**
 * Reads 16 bit PCM; several channels are mixed. A size beyond the end of the file counts as its end: programs that write to a
 * pipe do not know it.
 * @throws {RangeError} its message says what is wrong
 */
export function readWav(file: Buffer): Pcm {
	if (file.toString("latin1", 0, 4) !== "RIFF" || file.toString("latin1", 8, 12) !== "WAVE")
		throw new RangeError("it is not a WAV file");
	let format: { readonly channels: number; readonly rate: number } | undefined;
	for (let at = 12; at + 8 <= file.length; ) {
		const name = file.toString("latin1", at, at + 4);
		const size = file.readUInt32LE(at + 4);
		const content = file.subarray(at + 8, Math.min(file.length, at + 8 + size));
		if (name === "fmt " && content.length >= 16) {
			const [tag, channels, bits] = [
				content.readUInt16LE(0),
				content.readUInt16LE(2),
				content.readUInt16LE(14),
			];
			const isPcm = tag === 1 || (tag === 0xfffe && content.length >= 26 && content.readUInt16LE(24) === 1);
			if (!isPcm || bits !== 16 || channels === 0) throw new RangeError("it is not PCM of 16 bits");
			format = { channels, rate: content.readUInt32LE(4) };
		} else if (name === "data") {
			if (!format || format.rate < 4_000 || format.rate > 192_000)
				throw new RangeError("it does not say its rate");
			return { rate: format.rate, samples: mix(content, format.channels) };
		}
		at += 8 + size + (size & 1);
	}
	throw new RangeError("it has no samples");
}

function mix(content: Buffer, channels: number): Float32Array {
	const samples = new Float32Array(Math.floor(content.length / 2 / channels));
	for (let index = 0; index < samples.length; index += 1) {
		let sum = 0;
		for (let channel = 0; channel < channels; channel += 1)
			sum += content.readInt16LE((index * channels + channel) * 2);
		samples[index] = sum / channels / 32_768;
	}
	return samples;
}

/** Zero crossings of the filter on each side: 16 keep the aliases of speech below -60 dB. */
const crossings = 16;

/** Brings samples to another rate, by a sinc filter with a Hann window. @param rate Hz */
export function resample({ rate: from, samples }: Pcm, rate = sampleRate): Float32Array {
	if (from === rate) return samples;
	const output = new Float32Array(Math.floor((samples.length * rate) / from));
	const cutoff = Math.min(1, rate / from);
	const reach = crossings / cutoff;
	for (let index = 0; index < output.length; index += 1) {
		const center = (index * from) / rate;
		let sum = 0;
		for (
			let at = Math.max(0, Math.ceil(center - reach));
			at <= center + reach && at < samples.length;
			at += 1
		) {
			const distance = at - center;
			const phase = Math.PI * distance * cutoff;
			const sinc = phase === 0 ? 1 : Math.sin(phase) / phase;
			sum += (samples[at] ?? 0) * sinc * (0.5 + 0.5 * Math.cos((Math.PI * distance) / reach));
		}
		output[index] = sum * cutoff;
	}
	return output;
}

/** A WAV file as the devices play it. @param samples of `sampleRate` */
export function writeWav(samples: Float32Array): Buffer {
	const file = Buffer.alloc(headBytes + samples.length * 2);
	file.write("RIFF", 0);
	file.writeUInt32LE(file.length - 8, 4);
	file.write("WAVEfmt ", 8);
	file.writeUInt32LE(16, 16);
	file.writeUInt16LE(1, 20);
	file.writeUInt16LE(1, 22);
	file.writeUInt32LE(sampleRate, 24);
	file.writeUInt32LE(sampleRate * 2, 28);
	file.writeUInt16LE(2, 32);
	file.writeUInt16LE(16, 34);
	file.write("data", 36);
	file.writeUInt32LE(samples.length * 2, 40);
	for (const [index, sample] of samples.entries())
		file.writeInt16LE(
			Math.max(-32_768, Math.min(32_767, Math.round(sample * 32_768))),
			headBytes + index * 2,
		);
	return file;
}

/**
 * Converts WAV files of any sample rate to the format of the devices. Yields chunks, between which the
 * gateway handles other requests: a minute of speech takes about a second in total on a slow computer.
 */

import { sampleRate } from "../../device/peripherals/track.js";
import { type AcceptedFormat, type WavFormat, WavHeader } from "../../device/sound/wav-header.js";
import { encodeSamples, wavHead } from "../api/wav.js";
import { writeHeader } from "./wav.js";

const bytesPerSample = 2;
/** A chunk takes about 1 ms, the first ones up to 10 ms. */
const samplesPerPiece = 2_048;
/** Zero crossings of the filter on each side: 16 keep aliases of speech below -60 dB. */
const crossings = 16;

const convertible: AcceptedFormat = Object.freeze({
	name: "a WAV of 16 bit PCM, 4000 to 192000 Hz",
	accepts: ({ isPcm, channels, rate, bits }: WavFormat) =>
		isPcm && channels > 0 && bits === 16 && rate >= 4_000 && rate <= 192_000,
	headerBytes: Number.POSITIVE_INFINITY,
});

/**
 * Mixes channels down to mono. A data length that is 0 or beyond the end of the file extends to its end.
 * @yields header of a WAV file of `sampleRate`, mono, 16 bit PCM, then its samples
 * @throws {Error} with a message for users
 */
export function* convertWav(file: Buffer): Generator<Uint8Array, void> {
	const { channels, rate, samples } = readWav(file);
	const frames = Math.floor(samples.length / bytesPerSample / channels);
	const count = Math.floor((frames * sampleRate) / rate);
	if (count === 0) throw new Error("The WAV file has no samples.");
	yield wavHead(count);
	const filter = new Filter(rate, sampleRate);
	for (let at = 0; at < count; at += samplesPerPiece) {
		const length = Math.min(samplesPerPiece, count - at);
		const { first, end } = filter.inputFor(at, length);
		const input = new Float32Array(end - first);
		for (let frame = Math.max(0, first); frame < Math.min(end, frames); frame += 1)
			input[frame - first] = mix(samples, frame, channels);
		yield encodeSamples(filter.apply(input, at, length));
	}
}

function readWav(file: Buffer) {
	const header = new WavHeader(convertible);
	const at = writeHeader(header, file);
	const { format, isWhole } = header;
	if (!format || !isWhole) throw new Error("The file ends before the first sample. It is not a WAV file.");
	return { ...format, samples: file.subarray(at, at + header.sampleBytes(file.length - at)) };
}

/** @returns sample from -1 to 1 */
function mix(samples: Buffer, frame: number, channels: number): number {
	let sum = 0;
	for (let channel = 0; channel < channels; channel += 1)
		sum += samples.readInt16LE((frame * channels + channel) * bytesPerSample);
	return sum / channels / 32_768;
}

/** Resampler with a Hann-windowed sinc filter. Each output sample has one of a few phases between two input samples. */
class Filter {
	/** Input samples per output sample, as a fraction. */
	readonly #step: number;
	readonly #phases: number;
	readonly #cutoff: number;
	/** Number of input samples on each side. */
	readonly #reach: number;
	readonly #weights = new Map<number, Float32Array>();

	/** @param from Hz @param to Hz */
	constructor(from: number, to: number) {
		const divisor = greatestDivisor(from, to);
		this.#step = from / divisor;
		this.#phases = to / divisor;
		this.#cutoff = Math.min(1, to / from);
		this.#reach = Math.ceil(crossings / this.#cutoff);
	}

	/** @returns range of input samples for `count` output samples from `at` on; may extend beyond the sound */
	inputFor(at: number, count: number): { readonly first: number; readonly end: number } {
		const last = at + count - 1;
		return { first: this.#inputOf(at) - this.#reach, end: this.#inputOf(last) + this.#reach + 1 };
	}

	/**
	 * @param input range from `inputFor`
	 * @returns samples at the volume of the input
	 */
	apply(input: Float32Array, at: number, count: number): Float32Array {
		const output = new Float32Array(count);
		const first = this.#inputOf(at);
		for (let index = 0; index < count; index += 1) {
			const start = this.#inputOf(at + index) - first;
			const weights = this.#weightsAt(((at + index) * this.#step) % this.#phases);
			let sum = 0;
			for (let tap = 0; tap < weights.length; tap += 1)
				sum += (input[start + tap] ?? 0) * (weights[tap] ?? 0);
			output[index] = sum;
		}
		return output;
	}

	/** @returns index of the input sample at or before an output sample */
	#inputOf(at: number): number {
		return Math.floor((at * this.#step) / this.#phases);
	}

	/** @param phase offset from the input sample, in fractions of `#phases` */
	#weightsAt(phase: number): Float32Array {
		const known = this.#weights.get(phase);
		if (known) return known;
		const reach = crossings / this.#cutoff;
		const weights = Float32Array.from({ length: 2 * this.#reach + 1 }, (_, tap) => {
			const distance = tap - this.#reach - phase / this.#phases;
			if (Math.abs(distance) > reach) return 0;
			const angle = Math.PI * distance * this.#cutoff;
			const sinc = angle === 0 ? 1 : Math.sin(angle) / angle;
			return sinc * this.#cutoff * (0.5 + 0.5 * Math.cos((Math.PI * distance) / reach));
		});
		this.#weights.set(phase, weights);
		return weights;
	}
}

function greatestDivisor(a: number, b: number): number {
	return b === 0 ? a : greatestDivisor(b, a % b);
}

/** Loudness of one channel by ITU-R BS.1770, and normalization to a target without clipping. */

import { sampleRate } from "../../../../device/peripherals/track.js";

/** Target in LUFS, as used by streaming services and voice assistants. */
export const targetLoudness = -16;
/** Highest sample, -1 dBFS: headroom for inter-sample peaks. */
const ceiling = 10 ** (-1 / 20);
/** Inaudible difference in dB. */
const toleranceDb = 1;

const stepLength = sampleRate / 10;
/** Steps in a measured block; blocks overlap by three steps. */
const stepsPerBlock = 4;
const absoluteGate = -70;
const relativeGate = -10;
/** Samples between two gains of the limiter: 5 ms. */
const partLength = sampleRate / 200;

/** @param weighted samples after K-weighting @returns LUFS; -Infinity for silence */
export function loudnessOf(weighted: Float32Array): number {
	const powers = blockPowers(weighted);
	const loud = powers.filter((power) => toLoudness(power) > absoluteGate);
	const threshold = toLoudness(mean(loud)) + relativeGate;
	return toLoudness(mean(loud.filter((power) => toLoudness(power) > threshold)));
}

export interface NormalizedSound {
	readonly samples: Float32Array<ArrayBuffer>;
	/** Applied gain in dB; 0 if the loudness was within tolerance. */
	readonly gainDb: number;
}

/**
 * Normalizes samples to `targetLoudness` and limits peaks that would clip.
 * @param loudness of the samples in LUFS, finite
 */
export function normalize(samples: Float32Array<ArrayBuffer>, loudness: number): NormalizedSound {
	const wantedDb = targetLoudness - loudness;
	const gainDb = Math.abs(wantedDb) < toleranceDb ? 0 : wantedDb;
	return { samples: limit(samples, 10 ** (gainDb / 20)), gainDb };
}

/** Mean squares of the overlapping blocks; of the whole sound if it is shorter than a block. */
function blockPowers(samples: Float32Array): readonly number[] {
	const power = (first: number, end: number) =>
		samples.subarray(first, end).reduce((sum, sample) => sum + sample * sample, 0);
	const steps = Math.floor(samples.length / stepLength);
	if (steps < stepsPerBlock) return [power(0, samples.length) / Math.max(1, samples.length)];
	const sums = Array.from({ length: steps }, (_, step) => power(step * stepLength, (step + 1) * stepLength));
	return Array.from(
		{ length: steps - stepsPerBlock + 1 },
		(_, first) =>
			sums.slice(first, first + stepsPerBlock).reduce((sum, power) => sum + power, 0) /
			stepsPerBlock /
			stepLength,
	);
}

function toLoudness(power: number): number {
	return -0.691 + 10 * Math.log10(power);
}

function mean(values: readonly number[]): number {
	return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/**
 * Applies a gain that falls before each peak and rises after it. The gain of a part is the minimum that it and its neighbors need, and is
 * interpolated linearly between the middles of parts, so no sample exceeds the ceiling.
 */
function limit(samples: Float32Array<ArrayBuffer>, gain: number): Float32Array<ArrayBuffer> {
	const needed = Array.from({ length: Math.ceil(samples.length / partLength) }, (_, part) => {
		const peak = samples
			.subarray(part * partLength, (part + 1) * partLength)
			.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
		return Math.min(gain, ceiling / peak);
	});
	const gains = needed.map((own, part) => Math.min(own, needed[part - 1] ?? own, needed[part + 1] ?? own));
	return samples.map((sample, index) => {
		const place = Math.max(0, (index + 0.5) / partLength - 0.5);
		const from = gains[Math.floor(place)] ?? gain;
		const to = gains[Math.floor(place) + 1] ?? from;
		return sample * (from + (to - from) * (place % 1));
	});
}

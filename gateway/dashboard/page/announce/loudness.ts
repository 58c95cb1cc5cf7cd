/** Loudness of one channel after ITU-R BS.1770, and samples brought to a target without clipping. */

import { sampleRate } from "../../../../device/peripherals/track.js";

/** LUFS; what streaming services and voice assistants aim at. */
export const targetLoudness = -16;
/** Of the highest sample, so that what the device's output adds between two samples does not clip: -1 dBFS. */
const ceiling = 10 ** (-1 / 20);
/** A difference below it is not heard as one. */
const toleranceDb = 1;

const stepLength = sampleRate / 10;
/** Of the blocks that are measured, which overlap by three steps. */
const stepsPerBlock = 4;
const absoluteGate = -70;
const relativeGate = -10;
/** Between two gains of the limiter: 5 ms. */
const partLength = sampleRate / 200;

/** @param weighted samples after the standard's K-weighting @returns LUFS; -Infinity for silence */
export function loudnessOf(weighted: Float32Array): number {
	const powers = blockPowers(weighted);
	const loud = powers.filter((power) => toLoudness(power) > absoluteGate);
	const threshold = toLoudness(mean(loud)) + relativeGate;
	return toLoudness(mean(loud.filter((power) => toLoudness(power) > threshold)));
}

export interface Levelled {
	readonly samples: Float32Array<ArrayBuffer>;
	/** By which it was made louder; 0: it was as loud as it should be. */
	readonly gainDb: number;
}

/**
 * Brings samples to `targetLoudness`; peaks that would clip are turned down for some milliseconds.
 * @param loudness of them, finite
 */
export function level(samples: Float32Array<ArrayBuffer>, loudness: number): Levelled {
	const wantedDb = targetLoudness - loudness;
	const gainDb = Math.abs(wantedDb) < toleranceDb ? 0 : wantedDb;
	return { samples: limit(samples, 10 ** (gainDb / 20)), gainDb };
}

/** Mean squares of the overlapping blocks; of a sound that is shorter than one, its own. */
function blockPowers(samples: Float32Array): readonly number[] {
	const power = (first: number, end: number) =>
		samples.subarray(first, end).reduce((sum, sample) => sum + sample * sample, 0);
	const steps = Math.floor(samples.length / stepLength);
	if (steps < stepsPerBlock) return [power(0, samples.length) / Math.max(1, samples.length)];
	const sums = Array.from({ length: steps }, (_, step) => power(step * stepLength, (step + 1) * stepLength));
	return Array.from(
		{ length: steps - stepsPerBlock + 1 },
		(_, first) =>
			sums.slice(first, first + stepsPerBlock).reduce((sum, one) => sum + one, 0) /
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
 * Multiplies with a gain that falls before each peak and rises after it. A part's gain is the least that it and its neighbors
 * need; between the middles of two parts it goes evenly from one to the other, so it is nowhere above what a sample needs.
 */
function limit(samples: Float32Array<ArrayBuffer>, gain: number): Float32Array<ArrayBuffer> {
	const needed = Array.from({ length: Math.ceil(samples.length / partLength) }, (_, part) => {
		const peak = samples
			.subarray(part * partLength, (part + 1) * partLength)
			.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
		return Math.min(gain, ceiling / peak);
	});
	const gains = needed.map((one, part) => Math.min(one, needed[part - 1] ?? one, needed[part + 1] ?? one));
	return samples.map((sample, index) => {
		const place = Math.max(0, (index + 0.5) / partLength - 0.5);
		const from = gains[Math.floor(place)] ?? gain;
		const to = gains[Math.floor(place) + 1] ?? from;
		return sample * (from + (to - from) * (place % 1));
	});
}

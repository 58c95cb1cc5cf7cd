/** Loudness of one channel after ITU-R BS.1770, and samples brought to a target without clipping. */

/** LUFS; what streaming services and voice assistants aim at. */
export const targetLoudness = -16;
/** Of the highest sample, so that what the device's output adds between two samples does not clip: -1 dBFS. */
const ceiling = 10 ** (-1 / 20);
/** A difference below it is not heard as one. */
const toleranceDb = 1;

const stepSeconds = 0.1;
/** Of the blocks that are measured, which overlap by three steps. */
const stepsPerBlock = 4;
const absoluteGate = -70;
const relativeGate = -10;
/** Between two gains of the limiter. */
const limiterSeconds = 0.005;

/** @param rate Hz @returns LUFS; -Infinity for silence */
export function loudnessOf(samples: Float32Array, rate: number): number {
	const powers = blockPowers(weigh(samples, rate), Math.round(rate * stepSeconds));
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
export function level(samples: Float32Array<ArrayBuffer>, loudness: number, rate: number): Levelled {
	const wantedDb = targetLoudness - loudness;
	const gainDb = Math.abs(wantedDb) < toleranceDb ? 0 : wantedDb;
	return { samples: limit(samples, 10 ** (gainDb / 20), Math.round(rate * limiterSeconds)), gainDb };
}

/** The K-weighting: a shelf for the head, then a high-pass filter, from their analogue forms, since the standard gives 48 kHz only. */
function weigh(samples: Float32Array, rate: number): Float32Array {
	const shelf = (() => {
		const k = Math.tan((Math.PI * 1681.974450955533) / rate);
		const [q, high] = [0.7071752369554196, 10 ** (3.999843853973347 / 20)];
		const band = high ** 0.4996667741545416;
		const a0 = 1 + k / q + k * k;
		return {
			b: [
				(high + (band * k) / q + k * k) / a0,
				(2 * (k * k - high)) / a0,
				(high - (band * k) / q + k * k) / a0,
			],
			a: [(2 * (k * k - 1)) / a0, (1 - k / q + k * k) / a0],
		} as const;
	})();
	const highPass = (() => {
		const k = Math.tan((Math.PI * 38.13547087602444) / rate);
		const q = 0.5003270373238773;
		const a0 = 1 + k / q + k * k;
		return { b: [1, -2, 1], a: [(2 * (k * k - 1)) / a0, (1 - k / q + k * k) / a0] } as const;
	})();
	return filter(filter(samples, shelf), highPass);
}

interface Biquad {
	readonly b: readonly [number, number, number];
	readonly a: readonly [number, number];
}

function filter(samples: Float32Array, { b: [b0, b1, b2], a: [a1, a2] }: Biquad): Float32Array {
	let [x1, x2, y1, y2] = [0, 0, 0, 0];
	return samples.map((x) => {
		const y = b0 * x + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2;
		[x2, x1, y2, y1] = [x1, x, y1, y];
		return y;
	});
}

/** Mean squares of the overlapping blocks; of a sound that is shorter than one, its own. */
function blockPowers(samples: Float32Array, stepLength: number): readonly number[] {
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
 * Multiplies with a gain that falls before each peak and rises after it. A part's gain is the least that it and its neighbours
 * need; between the middles of two parts it goes evenly from one to the other, so it is nowhere above what a sample needs.
 */
function limit(
	samples: Float32Array<ArrayBuffer>,
	gain: number,
	partLength: number,
): Float32Array<ArrayBuffer> {
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

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readWav, resample, writeWav } from "../../../gateway/announcements/pcm.js";

function tone(hz: number, rate: number, seconds: number): Float32Array {
	return Float32Array.from(
		{ length: rate * seconds },
		(_, at) => Math.sin((2 * Math.PI * hz * at) / rate) / 2,
	);
}

/** Root mean square, without the ends, where the filter has too few samples. */
function level(samples: Float32Array): number {
	const inner = samples.subarray(500, -500);
	return Math.sqrt(inner.reduce((sum, sample) => sum + sample * sample, 0) / inner.length);
}

const decibels = (ratio: number) => 20 * Math.log10(ratio);

describe("resampling", () => {
	for (const rate of [8_000, 11_025, 22_050, 44_100, 48_000])
		test(`a tone of 1 kHz at ${rate} Hz is the same tone at 16 kHz`, () => {
			const output = resample({ rate, samples: tone(1_000, rate, 1) });
			assert.equal(output.length, 16_000);
			const meant = tone(1_000, 16_000, 1);
			const error = output.map((sample, at) => sample - (meant[at] ?? 0));
			assert.ok(decibels(level(error) / level(meant)) < -50, `${decibels(level(error) / level(meant))} dB`);
		});

	test("what 16 kHz cannot hold is left out and not heard as another tone", () => {
		const samples = tone(10_000, 44_100, 1);
		const output = resample({ rate: 44_100, samples });
		assert.ok(decibels(level(output) / level(samples)) < -50);
	});
});

describe("a WAV file", () => {
	test("that was written is read again", () => {
		const file = writeWav(tone(440, 16_000, 0.1));
		const { rate, samples } = readWav(file);
		assert.equal(rate, 16_000);
		assert.ok(writeWav(samples).equals(file));
	});

	test("is at its loudest where samples are louder, as a filter makes them", () => {
		assert.deepEqual(
			[...readWav(writeWav(Float32Array.from([1.2, -1.2, 0]))).samples],
			[32_767 / 32_768, -1, 0],
		);
	});

	test("of two channels is mixed, other chunks are left out, and a size beyond its end is its end", () => {
		const file = writeWav(Float32Array.from([0.5, -0.25, 0.5, 0.25]));
		file.writeUInt16LE(2, 22);
		file.writeUInt32LE(0xffff_ffff, 40);
		const chunk = Buffer.concat([
			file.subarray(0, 12),
			Buffer.from("LIST\x03\0\0\0abc\0", "latin1"),
			file.subarray(12),
		]);
		assert.deepEqual([...readWav(chunk).samples], [0.125, 0.375]);
	});

	test("that is none is refused with the reason", () => {
		const float = writeWav(new Float32Array(4));
		float.writeUInt16LE(3, 20);
		const extensible = Buffer.concat([float.subarray(0, 36), Buffer.alloc(10), float.subarray(36)]);
		extensible.writeUInt32LE(26, 16);
		extensible.writeUInt16LE(0xfffe, 20);
		extensible.writeUInt16LE(3, 44);
		for (const [file, reason] of [
			[Buffer.from("<html>"), /not a WAV/],
			[extensible, /not PCM of 16 bits/],
			[float, /not PCM of 16 bits/],
			[writeWav(new Float32Array(4)).subarray(0, 36), /no samples/],
		] as const)
			assert.throws(() => readWav(file), reason);
	});
});

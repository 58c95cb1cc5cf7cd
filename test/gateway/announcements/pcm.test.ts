import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { convertWav } from "../../../gateway/announcements/pcm.js";
import { assertSameBytes } from "../../support/bytes.js";
import { chunk, type WavFields, wav } from "../../support/sounds.js";

/** @returns samples from -1 to 1 */
function tone(hz: number, rate: number, seconds: number): Float32Array {
	const step = (2 * Math.PI * hz) / rate;
	return Float32Array.from({ length: rate * seconds }, (_, at) => Math.sin(step * at) / 2);
}

function fileOf(samples: ArrayLike<number>, fields: WavFields = {}): Buffer {
	const bytes = Buffer.alloc(samples.length * 2);
	for (const [index, sample] of Array.from(samples).entries())
		bytes.writeInt16LE(Math.round(sample * 32_767), index * 2);
	return wav(bytes, fields);
}

const convert = (file: Buffer) => Buffer.concat([...convertWav(file)]);

/** @returns samples from -1 to 1 */
function samplesOf(file: Buffer): Float32Array {
	const length = (file.length - 44) / 2;
	return Float32Array.from({ length }, (_, at) => file.readInt16LE(44 + at * 2) / 32_767);
}

/** Root mean square without the ends, where the filter has too few samples. */
function level(samples: Float32Array): number {
	const inner = samples.subarray(500, -500);
	return Math.sqrt(inner.reduce((sum, sample) => sum + sample * sample, 0) / inner.length);
}

const decibels = (ratio: number) => 20 * Math.log10(ratio);

describe("WAV file", () => {
	for (const rate of [8_000, 11_025, 22_050, 22_051, 44_100, 48_000, 192_000])
		test(`keeps a 1 kHz tone from ${rate} Hz at 16 kHz, without clicks between chunks`, () => {
			const output = samplesOf(convert(fileOf(tone(1_000, rate, 2), { rate })));
			assert.equal(output.length, 32_000);
			const meant = tone(1_000, 16_000, 2);
			const error = output.map((sample, at) => sample - (meant[at] ?? 0));
			assert.ok(decibels(level(error) / level(meant)) < -50, `${decibels(level(error) / level(meant))} dB`);
			const most = Math.max(...error.subarray(500, -500).map(Math.abs));
			assert.ok(most < 0.005, `differs by up to ${most}`);
		});

	test("loses frequencies above 8 kHz without aliasing", () => {
		const samples = tone(10_000, 44_100, 1);
		const output = samplesOf(convert(fileOf(samples, { rate: 44_100 })));
		const change = decibels(level(output) / level(samples));
		assert.ok(change < -50, `${change} dB`);
	});

	test("is unchanged, except for extra chunks, if devices can play it", () => {
		const samples = fileOf(tone(440, 16_000, 1)).subarray(44);
		const [before, after] = ["abc", "later"].map((text) => chunk("LIST", Buffer.from(text)));
		assertSameBytes(
			convert(wav(samples, { ...(before && { before }), ...(after && { after }) })),
			wav(samples),
		);
	});

	test("is clipped if the filter overshoots", () => {
		// Between two samples a square wave exceeds both.
		const square = Array.from({ length: 16_000 }, (_, at) => (at % 16 < 8 ? 1 : -1));
		const output = samplesOf(convert(fileOf(square, { rate: 8_000 })));
		const [least, most] = [Math.min(...output), Math.max(...output)];
		assert.ok(most <= 1 && least <= -1, `samples from ${least} to ${most}`);
	});

	test("is mixed down from two channels", () => {
		const output = samplesOf(convert(fileOf([0.5, -0.25, 0.5, 0.25], { channels: 2 })));
		const samples = Array.from(output, (sample) => sample.toFixed(3));
		assert.deepEqual(samples, ["0.125", "0.375"]);
	});

	for (const dataBytes of [0, 0x7fff_f000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff])
		test(`is read to its end if its header declares 0x${dataBytes.toString(16)} bytes, as from a pipe`, () => {
			const samples = fileOf(tone(440, 16_000, 1)).subarray(44);
			assertSameBytes(convert(Buffer.concat([wav(samples, { dataBytes }), Buffer.alloc(1)])), wav(samples));
		});

	test("is rejected with a reason if it cannot be converted", () => {
		const samples = Buffer.alloc(64);
		const extensible = Buffer.alloc(40);
		extensible.writeUInt16LE(0xfffe, 0);
		extensible.writeUInt16LE(2, 2);
		extensible.writeUInt32LE(48_000, 4);
		extensible.writeUInt16LE(32, 14);
		extensible.writeUInt16LE(3, 24);
		const head = wav(samples).subarray(0, 12);
		for (const [file, reason] of [
			[
				Buffer.from("<!doctype html>"),
				/^The file is HTML; it must be a WAV of 16 bit PCM, 4000 to 192000 Hz\.$/,
			],
			[Buffer.from("OggS\0\u0002\0\0\0\0\0\0\0\0"), /^The file is an Ogg; /],
			[wav(samples, { format: 3, bits: 32 }), /32 bit, not PCM \(format 3\); it must be a WAV of 16 bit PCM/],
			[Buffer.concat([head, chunk("fmt ", extensible)]), /48000 Hz, stereo, 32 bit, not PCM \(format 3\)/],
			[wav(samples, { bits: 24 }), /24 bit; it must be/],
			[wav(samples, { rate: 3_999 }), /3999 Hz/],
			[wav(samples, { channels: 0 }), /0 channels/],
			[wav(samples).subarray(0, 36), /ends before the first sample/],
			[wav(Buffer.alloc(0)), /has no samples/],
			[wav(Buffer.alloc(1)), /has no samples/],
		] as const)
			assert.throws(() => convert(file), { message: reason });
	});
});

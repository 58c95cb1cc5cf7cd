import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sampleRate } from "../../../device/peripherals/track.js";
import { WavHeader } from "../../../device/sound/wav-header.js";
import type { Play } from "../../../gateway/api/announcement.js";
import { playStates } from "../../../gateway/api/announcement.js";
import { writeWav } from "../../../gateway/api/wav.js";
import { loudnessOf, normalize, targetLoudness } from "../../../gateway/dashboard/page/announce/loudness.js";
import { Job } from "../../../gateway/dashboard/page/model/job.js";
import { playKind, playText } from "../../../gateway/dashboard/page/model/plays.js";

/** @param seconds duration of a 997 Hz sine, as used by EBU Tech 3341 */
function sine(seconds: number, amplitude: number): Float32Array<ArrayBuffer> {
	const step = (2 * Math.PI * 997) / sampleRate;
	return Float32Array.from({ length: seconds * sampleRate }, (_, at) => amplitude * Math.sin(step * at));
}

const decibels = (factor: number) => 20 * Math.log10(factor);
const peakOf = (samples: Float32Array) =>
	samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
const near = (value: number, expected: number, tolerance = 0.1) =>
	assert.ok(Math.abs(value - expected) <= tolerance, `${value} instead of ${expected}`);

test("writes a WAV file with a valid header and each sample", () => {
	const samples = Float32Array.of(0, 1, -1, 0.5, -0.5, 2, -2, 1 / 32_768);
	const file = writeWav(samples);
	const header = new WavHeader();
	let at = 0;
	while (!header.isWhole) {
		const end = at + header.neededBytes;
		header.write(file.subarray(at, end));
		at = end;
	}
	assert.equal(at, 44);
	assert.equal(header.sampleBytes(file.length - at), samples.length * 2);
	assert.deepEqual(
		[...new Int16Array(file.buffer, at)],
		[0, 32_767, -32_768, 16_384, -16_384, 32_767, -32_768, 1],
	);
});

describe("loudness", () => {
	test("equals the power of an unweighted sine", () => {
		near(loudnessOf(sine(1, 1)), -3.7);
		near(loudnessOf(sine(1, 0.1)), -23.7);
		near(loudnessOf(sine(0.2, 0.1)), -23.7);
	});

	test("ignores pauses, and is undefined for silence", () => {
		const withPause = new Float32Array(3 * sampleRate);
		withPause.set(sine(1, 0.1), 0);
		withPause.set(sine(1, 0.001), 2 * sampleRate);
		near(loudnessOf(withPause), -23.7, 1);
		assert.equal(loudnessOf(new Float32Array(sampleRate)), Number.NEGATIVE_INFINITY);
		assert.equal(loudnessOf(new Float32Array(0)), Number.NEGATIVE_INFINITY);
	});

	test("is normalized to the target from above and below", () => {
		for (const amplitude of [1, 0.02]) {
			const before = sine(1, amplitude);
			const { samples, gainDb } = normalize(before, loudnessOf(before));
			near(loudnessOf(samples), targetLoudness);
			near(gainDb, targetLoudness - (decibels(amplitude) - 3.7));
		}
		const right = sine(1, 10 ** ((targetLoudness + 3.7 + 0.5) / 20));
		assert.deepEqual(normalize(right, loudnessOf(right)), { samples: right, gainDb: 0 });
	});

	test("is raised without clipping by limiting peaks", () => {
		const before = sine(1, 0.05);
		// Clicks away from chunk boundaries.
		for (const at of [2_345, 10_001]) before.fill(0.9, at, at + 30);
		const { samples, gainDb } = normalize(before, loudnessOf(before));
		assert.ok(gainDb > 8, `${gainDb} dB`);
		assert.ok(peakOf(samples) <= 10 ** (-1 / 20) + 1e-6, `${peakOf(samples)}`);
		const quiet = samples.subarray(4_000, 8_000);
		near(decibels(peakOf(quiet)), decibels(0.05) + gainDb);
		const gains = [...samples].flatMap((sample, at) =>
			Math.abs(before[at] ?? 0) > 0.01 ? sample / (before[at] ?? 1) : [],
		);
		const steps = gains.slice(1).map((gain, at) => Math.abs(gain - (gains[at] ?? gain)));
		assert.ok(Math.max(...steps) < 0.2, `gain step of ${Math.max(...steps)}`);
	});
});

describe("announcement results", () => {
	const play = (deviceId: string, state: Play["state"], more: Partial<Play> = {}): Play => ({
		deviceId,
		state,
		reason: null,
		at: "2026-11-23T18:00:00.000Z",
		lateMs: null,
		heardMs: null,
		underruns: 0,
		...more,
	});

	test("are listed by latest state, failures first", () => {
		const plays = new Job<Play>({ title: "Dinner", kind: playKind, createdAt: "", cancel: () => {} });
		plays.merge([play("a", "playing"), play("b", "waiting"), play("c", "ready")]);
		plays.merge([play("c", "failed"), play("b", "played")]);
		const deviceIds = plays.parts.map(({ deviceId }) => deviceId);
		assert.deepEqual(deviceIds, ["c", "a", "b"]);
		assert.equal(plays.text, "1 failed, 1 playing, 1 played");
		assert.equal(plays.isRunning, true);
		plays.merge([play("a", "stopped")]);
		plays.merge([play("a", "playing", { at: "2026-11-23T17:59:59.999Z" })]);
		assert.equal(plays.isRunning, false);
		assert.deepEqual(Object.keys(playKind.words), [...playStates], "order of the gateway");
	});

	test("are described in words", () => {
		assert.equal(
			playText(play("a", "played", { heardMs: 1000, lateMs: 1250, underruns: 1 })),
			"played, started 1.3 s late, buffered once",
		);
		assert.equal(
			playText(play("a", "failed", { reason: "404 Not Found", heardMs: 700, underruns: 2 })),
			"failed, stopped after 0.7 s, buffered 2 times: 404 Not Found",
		);
	});
});

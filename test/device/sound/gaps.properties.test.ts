/**
 * Player on slow, interrupted and silent links: every sample is written once, in order, and faded around each
 * silence.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../support/property-runs.js";
import { bytesPerSecond, wav } from "../../support/sounds.js";
import { clock } from "../update/timer.js";
import { loudNoise, start } from "./rig.js";

/** Bytes of a fade, 20 ms. */
const fadeSamples = 320;

const fileOf = (samples: Int16Array) => wav(new Uint8Array(samples.buffer));

/** @returns the parts of a recording between silences, each with its first index */
function partsOf(recording: Int16Array): { from: number; samples: Int16Array }[] {
	const parts: { from: number; samples: Int16Array }[] = [];
	for (let at = 0; at < recording.length; ) {
		const from = recording.findIndex((sample, index) => index >= at && sample !== 0);
		if (from < 0) break;
		const silence = recording.indexOf(0, from);
		at = silence < 0 ? recording.length : silence;
		parts.push({ from, samples: recording.subarray(from, at) });
	}
	return parts;
}

/** @param underruns number of silences inside the recording */
function assertWhole(recording: Int16Array, samples: Int16Array, underruns: number): void {
	const parts = partsOf(recording);
	assert.equal(parts.length, underruns + 1);
	let position = 0;
	for (const [index, part] of parts.entries()) {
		const isFirst = index === 0;
		const isLast = index === parts.length - 1;
		// A fade starts with a gain of 0, which is indistinguishable from silence.
		if (!isFirst) position += 1;
		const { length } = part.samples;
		const rising = isFirst ? 0 : Math.min(fadeSamples, samples.length - position + 1);
		for (let at = 0; at < length; at++) {
			const left = length - at;
			const gain =
				!isFirst && at + 1 < rising
					? (at + 1) / rising
					: !isLast && left <= fadeSamples
						? left / fadeSamples
						: 1;
			const expected = Math.trunc((samples[position + at] ?? 0) * gain);
			if (Math.abs((part.samples[at] ?? 0) - expected) > 1)
				assert.fail(
					`part ${index}, sample ${at} of ${length}: got ${part.samples[at]}, expected ${expected}`,
				);
		}
		position += length;
	}
	assert.equal(position, samples.length);
}

test("fails a sound that trickles, and plays one that arrives with half its bit rate", () => {
	const lastUpdate = (segmentMs: number) => {
		const { updates, play } = start({ file: fileOf(loudNoise(40 * 16_000)), segmentMs });
		play();
		clock.pass(120_000);
		assert.equal(clock.pending, 0, "timers");
		return updates.at(-1);
	};
	// Segments have 1,440 bytes, or 45 ms.
	for (const segmentMs of [1_200, 400]) {
		const { state, reason } = lastUpdate(segmentMs) ?? {};
		assert.deepEqual(
			[state, reason],
			["failed", "The sound arrives too slowly to be played."],
			`${segmentMs} ms`,
		);
	}
	assert.equal(lastUpdate(90)?.state, "played");
});

const cut = fc.record({
	afterMs: fc.integer({ min: 100, max: 4_000 }),
	lastsMs: fc.integer({ min: 0, max: 3_000 }),
	isReachable: fc.boolean(),
});

test("writes every sample once and in order, with a fade on both sides of each silence", () => {
	let interrupted = 0;
	fc.assert(
		fc.property(
			fc.array(cut, { maxLength: 4 }),
			fc.integer({ min: 25, max: 60 }),
			fc.integer({ min: 1, max: 8 * 16_000 }),
			fc.boolean(),
			fc.constantFrom(1, 1, 1.0005, 1.02),
			(cuts, segmentMs, count, hasRanges, slowness) => {
				const samples = loudNoise(count);
				const options = { file: fileOf(samples), segmentMs, hasRanges };
				const { rig, server, updates, play } = start(options, { slowness });
				play();
				for (const { afterMs, lastsMs, isReachable } of cuts) {
					clock.pass(afterMs);
					server.isDown = !isReachable;
					server.cut();
					clock.pass(lastsMs);
					server.isDown = false;
				}
				clock.pass(120_000);
				const end = updates.at(-1);
				assert.notEqual(end?.reason, "The audio output failed.");
				if (end?.state === "failed") return;
				assert.deepEqual([end?.state, end?.heard_ms], ["played", Math.floor(count / 16)]);
				const written = Buffer.concat(rig.output?.written ?? []);
				const recording = new Int16Array(Uint8Array.from(written).buffer);
				assertWhole(recording, samples, end?.underruns ?? 0);
				if (end?.underruns) interrupted += 1;
				assert.equal(clock.pending, 0, "timers");
			},
		),
		{
			numRuns: runs(300),
			// A link that certainly interrupts the sound.
			examples: [
				[[{ afterMs: 2_500, lastsMs: 3_000, isReachable: false }], 40, 8 * 16_000, true, 1],
				// After six seconds the output is an eighth of a second behind the clock.
				[[], 40, 60 * 16_000, true, 1.02],
			],
		},
	);
	assert.ok(interrupted > 0, "no interruption");
});

test("plays a sound over any number of lost connections with more than a second in between", () => {
	const file = fileOf(loudNoise(10 * 16_000));
	const faults = [1, 2, 3, 4, 5].map((cut) => ({ at: cut * 1.5 * bytesPerSecond, kind: "cut" }) as const);
	const { server, updates, play } = start({ file, faults, segmentMs: 60 });
	play();
	clock.pass(60_000);
	assert.deepEqual([updates.at(-1)?.state, server.connections], ["played", 6]);
	const { headers } = server.requests.at(-1) ?? assert.fail("no request");
	assert.match(headers.get("range") ?? "", /^bytes=\d+-$/);
	assert.match(headers.get("if-range") ?? "", /^".+"$/);
});

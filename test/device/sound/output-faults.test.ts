/** Sounds on a failing output: each one ends with a reason, and the next one plays. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { SoundUpdate } from "../../../device/sound/results.js";
import { assertSameBytes } from "../../support/bytes.js";
import { bytesPerSecond, noise, wav } from "../../support/sounds.js";
import { MemoryServer } from "../update/server.js";
import { clock } from "../update/timer.js";
import { type OutputFault, Rig } from "./rig.js";

const faults: readonly OutputFault[] = [
	"does not open",
	"refuses to start",
	"refuses samples",
	"asks for none",
];

test("plays a sound from its first sample after the output's initial silence, and fades in after a gap", () => {
	clock.clear();
	const samples = noise(2 * bytesPerSecond);
	const server = new MemoryServer({ file: wav(samples) });
	const updates: SoundUpdate[] = [];
	const rig = new Rig({ server, volume: 50, leadInMs: 120, onUpdate: (update) => updates.push(update) });
	const silentBytes = 120 * 32;
	const silence = Buffer.alloc(silentBytes);
	rig.execute({ command: "play_sound", value: { id: "a", url: "http://10.0.0.1/a.wav" } });
	clock.pass(1_000);
	const played = () => Buffer.concat(rig.output?.written ?? []);
	const first = played();
	assertSameBytes(first.subarray(0, silentBytes), silence);
	assertSameBytes(first.subarray(silentBytes, silentBytes + 4_000), samples.subarray(0, 4_000));

	rig.press("play");
	clock.pass(1_000);
	const pausedAt = played().length;
	rig.press("play");
	const resumed = played().subarray(pausedAt);
	assertSameBytes(resumed.subarray(0, silentBytes), silence);
	assert.equal(Math.abs(resumed.readInt16LE(silentBytes)), 0, "first sample of the fade");
	clock.pass(5_000);
	const end = updates.at(-1);
	assert.deepEqual([end?.state, end?.heard_ms, end?.underruns], ["played", 2_000, 0]);
});

for (const fault of faults)
	test(`fails a sound when the output ${fault}, and plays the next one`, () => {
		clock.clear();
		const server = new MemoryServer({ file: wav(noise(4 * bytesPerSecond)) });
		const updates: SoundUpdate[] = [];
		const rig = new Rig({ server, volume: 50, fault, onUpdate: (update) => updates.push(update) });
		const play = (id: string) => {
			rig.execute({ command: "play_sound", value: { id, url: "http://10.0.0.1/a.wav" } });
			clock.pass(20_000);
			return updates.at(-1);
		};
		assert.equal(rig.audio.isReady, fault !== "does not open", "condition for confirming an image");
		const failed = play("a");
		assert.deepEqual(
			[failed?.id, failed?.state, failed?.reason],
			["a", "failed", "The audio output failed."],
		);
		assert.equal(rig.audio.report.player_state, "idle");
		rig.fault = undefined;
		const played = play("b");
		assert.deepEqual([played?.id, played?.state, played?.heard_ms], ["b", "played", 4_000]);
		assert.equal(clock.pending, 0, "timers");
	});

/** Reasons for which a sound ends or is rejected, and failures of the output, in Node. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Command } from "../../../device/protocol/messages.js";
import { assertSameBytes } from "../../support/bytes.js";
import { bytesPerSecond, chunk, noise, wav } from "../../support/sounds.js";
import { head, type RawAnswer, type ServerOptions } from "../update/server.js";
import { clock } from "../update/timer.js";
import { chimeLevel, chimeSamples } from "./resource.js";
import { type OutputFault, type Rig, start } from "./rig.js";

describe("unplayable sound fails with a reason:", () => {
	const samples = noise(4000);
	const answers = (answer: RawAnswer) => ({ answer: () => answer });
	for (const [name, reason, server] of [
		[
			"a few bytes",
			/^The file ends before its first sample; it is not a WAV\.$/,
			{ file: Buffer.from("RIFF") },
		],
		[
			"an endless header",
			/^The WAV file has more than 16384 bytes before its samples\.$/,
			{ file: wav(samples, { before: chunk("LIST", Buffer.alloc(100_000)) }) },
		],
		["no samples", /^The WAV file has no samples\.$/, { file: wav(Buffer.alloc(0)) }],
		["404", /answered 404: there is no sound at this address\.$/, answers({ head: head(404, {}) })],
		[
			"a body that stops",
			/^The connection was lost: nothing was received for 5 s\.$/,
			answers({
				head: head(200, { "Content-Length": "100000" }),
				body: wav(noise(99_956)).subarray(0, 5000),
				ending: "stall",
			}),
		],
		[
			"a server that closes each connection",
			/^The sound cannot be loaded from 10\.0\.0\.1\S*: the connection broke off\.$/,
			answers({ head: "", ending: "cut" }),
		],
	] as const satisfies readonly (readonly [string, RegExp, Partial<ServerOptions>])[])
		test(name, () => {
			const { rig, updates, play } = start(server);
			play();
			clock.pass(120_000);
			assert.equal(updates.at(-1)?.state, "failed");
			assert.match(updates.at(-1)?.reason ?? "", reason);
			assert.equal(rig.audio.report.player_state, "idle");
			assert.equal(clock.pending, 0, "timers");
		});

	test("a file: address", () => {
		const { updates, play } = start();
		play({ url: "file:///etc/passwd" });
		assert.equal(
			updates.at(-1)?.reason,
			'The sound\'s address must be http://host:port/path or https://…, not "file:///etc/passwd".',
		);
	});

	test("no start_sound", () => {
		const { rig, updates, play } = start();
		play({ ready: true });
		clock.pass(9_000);
		assert.equal(updates.at(-1)?.state, "ready");
		const rejected = rig.execute({ command: "start_sound", value: { id: "b" } });
		assert.equal(rejected?.message, "unknown sound b; send play_sound first");
		clock.pass(5_000);
		assert.deepEqual(updates.at(-1), {
			id: "a",
			state: "failed",
			reason: "No start_sound was received within 10 s.",
			underruns: 0,
			heard_ms: 0,
		});
	});
});

describe("a sound is stopped with a reason by", () => {
	const end = (command: Command) => (rig: Rig) => void rig.execute(command);
	const other = { id: "b", url: "http://10.0.0.1/b.wav" };
	for (const [name, reason, action] of [
		["a chime", "chime", end({ command: "play_audio", value: "startup" })],
		["another sound", "another sound", end({ command: "play_sound", value: other })],
		["stop_sound", "command", end({ command: "stop_sound" })],
		["stop_sound with its id", "command", end({ command: "stop_sound", value: { id: "a" } })],
		["an update", "update", (rig: Rig) => void Object.assign(rig, { isUpdating: true })],
		["a restart", "restart", (rig: Rig) => rig.sounds.onRestart()],
	] as const)
		test(name, () => {
			const { rig, play, lastOf } = start();
			play();
			clock.pass(1_000);
			action(rig);
			clock.pass(100);
			const { state, reason: actual, heard_ms = 0 } = lastOf("a") ?? {};
			assert.deepEqual([state, actual], ["stopped", reason]);
			assert.ok(heard_ms > 500 && heard_ms <= 1_100, `${heard_ms} ms`);
		});
});

test("a full queue rejects sounds, and an urgent sound rejects chimes, with a reason", () => {
	const { rig, play } = start();
	for (const id of ["a", "b", "c"]) assert.equal(play({ id, priority: "normal" }), undefined);
	assert.deepEqual(play({ id: "d", priority: "normal" }), {
		code: "busy",
		message: "2 sounds are queued; try again after one of them",
	});
	assert.equal(play({ id: "u", priority: "urgent" }), undefined);
	assert.equal(
		play({ id: "e", priority: "urgent" })?.message,
		"3 sounds are queued; try again after one of them",
	);
	clock.pass(1_000);
	assert.deepEqual(rig.execute({ command: "play_audio", value: "startup" }), {
		code: "busy",
		message: "an urgent sound is playing; try again afterwards",
	});
});

test("plays a sound from its first sample after the output's initial silence, and fades in after a gap", () => {
	const samples = noise(2 * bytesPerSecond);
	const { rig, updates, play } = start({ file: wav(samples) }, { leadInMs: 120 });
	const silentBytes = 120 * 32;
	const silence = Buffer.alloc(silentBytes);
	play();
	clock.pass(1_000);
	const played = () => Buffer.concat(rig.output?.written ?? []);
	assertSameBytes(played().subarray(0, silentBytes), silence);
	assertSameBytes(played().subarray(silentBytes, silentBytes + 4_000), samples.subarray(0, 4_000));
	rig.press("play");
	clock.pass(1_000);
	const pausedAt = played().length;
	rig.press("play");
	const resumed = played().subarray(pausedAt);
	assertSameBytes(resumed.subarray(0, silentBytes), silence);
	assert.equal(Math.abs(resumed.readInt16LE(silentBytes)), 0, "first sample of the fade");
	clock.pass(5_000);
	const last = updates.at(-1);
	assert.deepEqual([last?.state, last?.heard_ms, last?.underruns], ["played", 2_000, 0]);
});

test("plays the chime at its own volume, then 0.3 s of silence, then the sound at the sound's volume", () => {
	const samples = noise(bytesPerSecond);
	const { rig, play, lastOf } = start({ file: wav(samples) });
	play({ priority: "normal", volume: 80, chime: "attention", chime_volume: 30 });
	const chimeBytes = 2 * chimeSamples;
	const silence = Buffer.alloc(0.3 * bytesPerSecond);
	const volumes = new Set<string>();
	while (lastOf("a")?.state !== "played") {
		const { heardBytes, report } = rig.audio;
		const part = heardBytes < chimeBytes ? "chime" : heardBytes < chimeBytes + silence.length ? "" : "sound";
		if (report.player_state === "playing" && part)
			volumes.add(`${part}: ${report.volume}, ${rig.codec.volume}`);
		clock.pass(10);
	}
	assert.deepEqual([...volumes], ["chime: 30, 30", "sound: 80, 80"]);
	assert.equal(lastOf("a")?.heard_ms, 1_000, "of the sound alone");
	assert.deepEqual([rig.audio.report.volume, rig.codec.volume], [50, 50]);
	const chime = Buffer.from(new Int16Array(chimeSamples).fill(chimeLevel).buffer);
	const all = Buffer.concat([chime, silence, samples]);
	assertSameBytes(Buffer.concat(rig.output?.written ?? []).subarray(0, all.length), all);
});

test("fails a sound with the reported reason when the codec does not answer, and plays the next one", () => {
	const { rig, play, lastOf } = start();
	const { codec, audio } = rig;
	const fault = "The codec does not answer.";
	const resultOf = (id: string, ms: number) => {
		clock.pass(ms);
		const { state, reason, heard_ms } = lastOf(id) ?? {};
		return [state, reason, heard_ms, audio.report.fault];
	};
	codec.isAnswering = false;
	codec.check();
	play({ id: "silent" });
	assert.deepEqual(resultOf("silent", 2_000), ["failed", fault, 0, fault]);
	codec.isAnswering = true;
	play({ id: "heard" });
	assert.deepEqual(resultOf("heard", 6_000), ["played", undefined, 4_000, undefined]);
	play({ id: "cut" });
	clock.pass(2_000);
	codec.isAnswering = false;
	assert.deepEqual(resultOf("cut", 6_000), ["failed", fault, 0, fault]);
});

const faults: readonly OutputFault[] = [
	"does not open",
	"rejects to start",
	"rejects samples",
	"asks for none",
];
for (const fault of faults)
	test(`fails a sound when the output ${fault}, and plays the next one`, () => {
		const { rig, play, lastOf } = start({}, { fault });
		assert.equal(rig.audio.isReady, fault !== "does not open", "condition for confirming an image");
		play();
		clock.pass(20_000);
		assert.deepEqual([lastOf("a")?.state, lastOf("a")?.reason], ["failed", "The audio output failed."]);
		assert.equal(rig.audio.report.player_state, "idle");
		rig.fault = undefined;
		play({ id: "b" });
		clock.pass(20_000);
		assert.deepEqual([lastOf("b")?.state, lastOf("b")?.heard_ms], ["played", 4_000]);
		assert.equal(clock.pending, 0, "timers");
	});

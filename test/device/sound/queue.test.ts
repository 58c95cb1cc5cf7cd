/** Sound queue and urgent sounds, on a device in XS. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { UplinkOf } from "../../../device/protocol/messages.js";
import { bytesPerSecond, capture, noise, SoundServer, wav } from "../../support/sounds.js";
import { passUntil, powerOnInVirtualTime, yieldToSockets } from "../../support/virtual-time.js";

type Update = UplinkOf<"sound_update">;

/** Starts once it is fully loaded, so that it has no gap on a busy computer. */
const short = 1;
const samplesOf = (name: string, seconds = short) => noise(seconds * bytesPerSecond, name.charCodeAt(0));

async function powerOn(t: TestContext, seconds = 3) {
	const servers = new Map<string, SoundServer>();
	for (const name of ["a", "b", "c", "d", "u"])
		servers.set(name, await SoundServer.run(t, { file: wav(samplesOf(name, seconds)) }));
	const timed = await powerOnInVirtualTime(t, "DEV-1");
	const { connection, device } = timed;
	const play = (id: string, value: object = {}) =>
		connection.send({
			command: "play_sound",
			value: { id, url: servers.get(id)?.url, priority: "normal", ...value },
		});
	const says = (id: string, state: Update["state"]) =>
		passUntil(
			device,
			connection.next("sound_update", (update) => update.id === id && update.state === state),
		);
	return { ...timed, play, says };
}

test("plays sounds in the order of arrival, queues two and rejects a third", async (t) => {
	const { device, connection, pass, play, says } = await powerOn(t, short);
	const captured = capture(device.board);
	for (const id of ["a", "b", "c", "d"]) play(id);
	const refused = await connection.next("command_error");
	assert.deepEqual(
		[refused.code, refused.message],
		["busy", "2 sounds are queued; try again after one of them"],
	);
	for (const id of ["a", "b", "c"]) {
		await says(id, "playing");
		const { heard_ms } = await says(id, "played");
		assert.equal(heard_ms, short * 1000);
	}
	// The last samples leave the output some ms after the sound's end.
	await pass(100);
	const heard = captured();
	let at = 0;
	for (const id of ["a", "b", "c"]) {
		at = heard.indexOf(samplesOf(id), at);
		assert.ok(at >= 0, `all samples of ${id}, after the previous ones`);
	}
});

test("plays an urgent sound immediately when the queue is full", async (t) => {
	const { connection, play, says } = await powerOn(t, short);
	play("a");
	await says("a", "playing");
	for (const id of ["b", "c"]) play(id);
	play("u", { priority: "urgent" });
	await says("a", "waiting");
	play("d", { priority: "urgent" });
	const { message } = await connection.next("command_error");
	assert.equal(message, "3 sounds are queued; try again after one of them");
	await says("u", "played");
	await says("a", "resumed");
	for (const id of ["a", "b", "c"]) await says(id, "played");
});

test("interrupts a sound for an urgent one and resumes it at the sample that was heard last", async (t) => {
	const { device, pass, play, says } = await powerOn(t, short);
	const captured = capture(device.board);
	play("a");
	await says("a", "playing");
	for (let step = 0; step < 6; step++) {
		await yieldToSockets();
		await pass(100);
	}
	play("u", { priority: "urgent" });
	await says("a", "waiting");
	await says("u", "played");
	await says("a", "resumed");
	const { state, heard_ms, underruns } = await says("a", "played");
	assert.deepEqual([state, heard_ms, underruns], ["played", short * 1000, 0]);
	// The last samples leave the output some ms after the sound's end.
	await pass(100);
	const heard = captured();
	const samples = samplesOf("a");
	const urgent = heard.indexOf(samplesOf("u"));
	assert.ok(urgent > 0, `urgent announcement at byte ${urgent}`);
	const after = heard.subarray(urgent + short * bytesPerSecond);
	const rest = after.subarray(after.findIndex((byte) => byte !== 0) & ~1);
	const goesOnAt = samples.indexOf(rest.subarray(0, 64));
	assert.ok(goesOnAt > bytesPerSecond / 2, `resumes at ${goesOnAt}`);
	assert.ok(rest.subarray(0, samples.length - goesOnAt).equals(samples.subarray(goesOnAt)), "plays the rest");
	const before = heard.subarray(0, urgent);
	const start = before.indexOf(samples.subarray(0, 64));
	assert.ok(before.subarray(start, start + goesOnAt).equals(samples.subarray(0, goesOnAt)), "lost samples");
	const fadeBytes = 0.05 * bytesPerSecond;
	const again = before.subarray(start + goesOnAt + fadeBytes);
	assert.ok(
		again.every((byte) => byte === 0),
		"repeats only the samples of the fade-out",
	);
});

test("rejects a chime while an urgent sound plays; otherwise the chime ends the current sound", async (t) => {
	const { connection, play, says } = await powerOn(t);
	play("u", { priority: "urgent" });
	await says("u", "playing");
	connection.send({ command: "play_audio", value: "startup" });
	const { code, message } = await connection.next("command_error");
	assert.deepEqual([code, message], ["busy", "an urgent sound is playing; try again afterwards"]);
	await says("u", "played");
	play("a");
	await says("a", "playing");
	connection.send({ command: "play_audio", value: "startup" });
	assert.equal((await says("a", "stopped")).reason, "chime");
});

test("expires a sound that has not started in time; one without a priority replaces all others", async (t) => {
	const { play, says } = await powerOn(t);
	play("a");
	play("b", { expires: 2 });
	play("c", { expires: 60 });
	await says("b", "expired");
	await says("a", "played");
	await says("c", "playing");
	play("d");
	await says("d", "waiting");
	play("u", { priority: undefined });
	for (const id of ["d", "c"]) assert.equal((await says(id, "stopped")).reason, "another sound");
	await says("u", "played");
});

test("an update and stop_sound without an id also end queued sounds; stop_sound with an id ends only that one", async (t) => {
	const silent = await SoundServer.run(t, { file: Buffer.alloc(0), answer: () => true });
	const { connection, play, says } = await powerOn(t);
	play("a");
	play("b");
	play("c");
	await says("a", "playing");
	connection.send({ command: "stop_sound", value: { id: "b" } });
	await says("b", "stopped");
	connection.send({ command: "stop_sound" });
	for (const id of ["c", "a"]) assert.equal((await says(id, "stopped")).reason, "command");
	play("d");
	play("u");
	await says("d", "playing");
	connection.send({ command: "start_ota", url: silent.url });
	for (const id of ["d", "u"]) assert.equal((await says(id, "stopped")).reason, "update");
});

test("a muted device plays only urgent sounds, at their volume, and is muted again afterwards", async (t) => {
	const { connection, command, play, says } = await powerOn(t);
	await command({ command: "set_volume", value: 60 }, ({ audio }) => audio.volume === 60);
	await command({ command: "set_volume", value: 0 }, ({ audio }) => audio.volume === 0);
	const volumeNow = async () => (await connection.query()).peripherals.audio.volume;
	play("a", { volume: 80 });
	await says("a", "playing");
	assert.equal(await volumeNow(), 0);
	play("u", { priority: "urgent", volume: 70 });
	await says("u", "playing");
	assert.equal(await volumeNow(), 70);
	await says("u", "played");
	assert.equal(await volumeNow(), 0);
	play("b", { priority: "urgent" });
	await says("b", "playing");
	assert.equal(await volumeNow(), 60, "last volume above 0");
});

/** Chimes before sounds, on a device in XS. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import type { SoundUpdate, StateReport } from "../../../device/protocol/messages.js";
import { volumeRegister } from "../../../hosts/esp32/es8311.js";
import type { VirtualDeviceOptions } from "../../../hosts/virtual/node/virtual-device.js";
import { chimePath } from "../../../scripts/assets/chimes.js";
import { bytesPerSecond, capture, noise, SoundServer, wav } from "../../support/sounds.js";
import { passUntil, powerOnInVirtualTime, yieldToSockets } from "../../support/virtual-time.js";

/** Each one starts once it is fully loaded, so that it has no gap on a busy computer. */
const words = noise(bytesPerSecond, 1);
const urgentWords = noise(bytesPerSecond, 2);
const chime = readFileSync(chimePath("attention")).subarray(44);
type Audio = StateReport["peripherals"]["audio"];
const silence = Buffer.alloc(0.3 * bytesPerSecond);
/** Gain for a volume, as Board computes it. */
const gainOf = (volume: number) => 10 ** ((volumeRegister(volume) - volumeRegister(100)) / 40);

async function powerOn(t: TestContext, options: Partial<VirtualDeviceOptions> = {}) {
	const a = await SoundServer.run(t, { file: wav(words) });
	const urgent = await SoundServer.run(t, { file: wav(urgentWords) });
	const timed = await powerOnInVirtualTime(t, "DEV-1", options);
	const { connection, device, pass } = timed;
	const play = (value: object = {}) =>
		connection.send({
			command: "play_sound",
			value: { id: "a", url: a.url, priority: "normal", chime: "attention", ...value },
		});
	const playUrgent = (id: string) =>
		connection.send({ command: "play_sound", value: { id, url: urgent.url, priority: "urgent" } });
	const says = (id: string, state: SoundUpdate["state"]) =>
		passUntil(
			device,
			connection.next("sound_update", (update) => update.id === id && update.state === state),
		);
	/** Next unread report during playback. */
	const report = (id: string, predicate: (audio: Audio) => boolean = () => true) => {
		const awaited = connection.next("state_report", ({ peripherals: { audio } }) => {
			return audio.current_track === `file:///sounds/${id}` && predicate(audio);
		});
		return passUntil(device, awaited).then(({ peripherals }) => peripherals.audio);
	};
	const passWithSockets = async (ms: number) => {
		for (let left = ms; left > 0; left -= 50) {
			await yieldToSockets();
			await pass(Math.min(left, 50));
		}
	};
	/** Duration until the last samples have left the output, after the sound's end. */
	const end = async (id: string) => {
		const update = await says(id, "played");
		await pass(100);
		return update;
	};
	return { ...timed, play, playUrgent, says, end, report, passWithSockets };
}

test("plays the chime before the sound at its own volume, then 0.3 s of silence, then the sound at the sound's volume", async (t) => {
	const { device, connection, play, says, end, report } = await powerOn(t);
	const captured = capture(device.board);
	/** Gain changes, each with the samples played before it. */
	const gains: { at: number; gain: number }[] = [];
	device.board.listen({ onGain: (gain) => gains.push({ at: captured().length, gain }) });
	play({ volume: 80, chime_volume: 30 });
	const { volume, player_state } = await report("a");
	assert.deepEqual([volume, player_state], [30, "playing"]);
	await says("a", "playing");
	assert.equal((await report("a", (audio) => audio.volume !== 30)).volume, 80);
	const { heard_ms } = await end("a");
	assert.equal(heard_ms, 1000, "of the sound alone");
	assert.equal((await connection.query()).peripherals.audio.volume, 50);
	const heard = captured();
	const start = heard.indexOf(Buffer.concat([chime, silence, words]));
	assert.ok(start >= 0, "one after the other");
	const gainAt = (position: number) => gains.findLast(({ at }) => at <= start + position)?.gain;
	assert.equal(gainAt(chime.length), gainOf(30));
	assert.equal(gainAt(chime.length + silence.length), gainOf(80));
	assert.equal(gainAt(chime.length + silence.length + words.length - 4092), gainOf(80));
});

test("keeps a volume that was set by hand during the chime", async (t) => {
	const { device, connection, play, says } = await powerOn(t);
	play({ volume: 80, chime_volume: 30 });
	await says("a", "playing");
	connection.send({ command: "set_volume", value: 40 });
	await says("a", "played");
	assert.equal((await connection.query()).peripherals.audio.volume, 40);
	assert.notEqual(device.board.gain, gainOf(80));
});

test("uses the sound's volume without an own one; a muted device plays the chime only before an urgent sound", async (t) => {
	const { command, play, says, report } = await powerOn(t);
	const volumeOf = async (id: string) => (await report(id)).volume;
	play({ volume: 70 });
	assert.equal(await volumeOf("a"), 70);
	await says("a", "played");
	await command({ command: "set_volume", value: 0 }, ({ audio }) => audio.volume === 0);
	play({ id: "b", volume: 70, chime_volume: 60 });
	assert.equal(await volumeOf("b"), 0);
	await says("b", "played");
	play({ id: "c", priority: "urgent", volume: 70, chime_volume: 60 });
	assert.equal(await volumeOf("c"), 60);
});

test("reports a sound that waits for start_sound, and starts it with its chime", async (t) => {
	const { device, connection, passWithSockets, play, says, end } = await powerOn(t);
	const captured = capture(device.board);
	play({ ready: true });
	await says("a", "ready");
	await passWithSockets(1000);
	assert.equal(captured().length, 0);
	connection.send({ command: "start_sound", value: { id: "a" } });
	await says("a", "playing");
	await end("a");
	assert.equal(captured().indexOf(Buffer.concat([chime, silence, words])), 0);
});

test("repeats the chime if the sound was interrupted during it, and not later", async (t) => {
	const { device, passWithSockets, play, playUrgent, says, end } = await powerOn(t);
	const captured = capture(device.board);
	for (const afterMs of [100, chime.length / 32 + 600]) {
		const from = captured().length;
		const [id, urgentId] = [`a${afterMs}`, `u${afterMs}`];
		play({ id });
		await says(id, "playing");
		await passWithSockets(afterMs);
		playUrgent(urgentId);
		await says(id, "waiting");
		await says(urgentId, "played");
		await says(id, "resumed");
		const { heard_ms, underruns } = await end(id);
		assert.deepEqual([heard_ms, underruns], [1000, 0]);
		const heard = captured().subarray(from);
		const urgentAt = heard.indexOf(urgentWords);
		assert.ok(urgentAt > 0, `urgent announcement at byte ${urgentAt}`);
		const [before, after] = [heard.subarray(0, urgentAt), heard.subarray(urgentAt + urgentWords.length)];
		// On a busy computer the urgent sound may start later than after 100 ms.
		const hasBegun = before.includes(words.subarray(0, 64));
		assert.equal(after.includes(Buffer.concat([chime, silence, words])), !hasBegun, `after ${afterMs} ms`);
		assert.ok(after.includes(words.subarray(-64)), "the end of the interrupted announcement is missing");
	}
});

test("reports a sound as failed when samples of its chime are lost", async (t) => {
	const { buildFirmware } = await import("../../../hosts/virtual/node/firmware.js");
	const program = await buildFirmware({
		"peripherals/chimes": "test/hosts/virtual/xs/firmware/no-chimes.ts",
	});
	const { play, says } = await powerOn(t, { program });
	play();
	assert.equal((await says("a", "failed")).reason, "The audio output failed.");
	play({ id: "b", chime: undefined });
	await says("b", "played");
});

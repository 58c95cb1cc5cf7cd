/** Chimes before sounds, sample by sample, on a device in XS. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import type { SoundUpdate, StateReport } from "../../../device/protocol/messages.js";
import { volumeRegister } from "../../../hosts/esp32/es8311.js";
import { buildFirmware } from "../../../hosts/virtual/node/firmware.js";
import type { VirtualDeviceOptions } from "../../../hosts/virtual/node/virtual-device.js";
import { chimePath } from "../../../scripts/assets/chimes.js";
import { bytesPerSecond, capture, noise, SoundServer, wav } from "../../support/sounds.js";
import { passUntil, powerOnInVirtualTime } from "../../support/virtual-time.js";

/** Each one starts once it is fully loaded, so that it has no gap on a busy computer. */
const words = noise(bytesPerSecond, 1);
const chime = readFileSync(chimePath("attention")).subarray(44);
const silence = Buffer.alloc(0.3 * bytesPerSecond);
/** Gain for a volume, as Board computes it. */
const gainOf = (volume: number) => 10 ** ((volumeRegister(volume) - volumeRegister(100)) / 40);

async function powerOn(t: TestContext, options: Partial<VirtualDeviceOptions> = {}) {
	const { url } = await SoundServer.run(t, { file: wav(words) });
	const timed = await powerOnInVirtualTime(t, "DEV-1", options);
	const { connection, device } = timed;
	const play = (id: string, value: object = {}) =>
		connection.send({ command: "play_sound", value: { id, url, priority: "normal", ...value } });
	const says = (id: string, state: SoundUpdate["state"]) =>
		passUntil(
			device,
			connection.next("sound_update", (update) => update.id === id && update.state === state),
		);
	return { ...timed, play, says };
}

test("plays the chime before the sound at its own volume, then 0.3 s of silence, then the sound at the sound's volume", async (t) => {
	const { device, connection, pass, play, says } = await powerOn(t);
	const captured = capture(device.board);
	/** Gain changes, each with the samples played before it. */
	const gains: { at: number; gain: number }[] = [];
	device.board.listen({ onGain: (gain) => gains.push({ at: captured().length, gain }) });
	const reportOf = async (predicate: (audio: StateReport["peripherals"]["audio"]) => boolean) => {
		const awaited = connection.next("state_report", ({ peripherals: { audio } }) => {
			return audio.current_track === "file:///sounds/a" && predicate(audio);
		});
		return (await passUntil(device, awaited)).peripherals.audio;
	};
	play("a", { volume: 80, chime: "attention", chime_volume: 30 });
	const { volume, player_state } = await reportOf(() => true);
	assert.deepEqual([volume, player_state], [30, "playing"]);
	assert.equal((await reportOf((audio) => audio.volume !== 30)).volume, 80);
	assert.equal((await says("a", "played")).heard_ms, 1000, "of the sound alone");
	// The last samples leave the output some ms after the sound's end.
	await pass(100);
	assert.equal((await connection.query()).peripherals.audio.volume, 50);
	const start = captured().indexOf(Buffer.concat([chime, silence, words]));
	assert.ok(start >= 0, "one after the other");
	const gainAt = (position: number) => gains.findLast(({ at }) => at <= start + position)?.gain;
	assert.equal(gainAt(chime.length), gainOf(30));
	assert.equal(gainAt(chime.length + silence.length), gainOf(80));
	assert.equal(gainAt(chime.length + silence.length + words.length - 4092), gainOf(80));
});

test("reports a sound as failed when samples of its chime are lost", async (t) => {
	const chimes = "test/hosts/virtual/xs/firmware/no-chimes.ts";
	const program = await buildFirmware({ "peripherals/chimes": chimes });
	const { play, says } = await powerOn(t, { program });
	play("a", { chime: "attention" });
	assert.equal((await says("a", "failed")).reason, "The audio output failed.");
	play("b");
	await says("b", "played");
});

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { StateReport } from "../../../device/protocol/messages.js";
import { chimes } from "../../../device/protocol/messages.js";
import type { Board, Sound } from "../../../hosts/virtual/node/board.js";
import {
	flashFactoryImage,
	flashSettings,
	makeVirtualImage,
} from "../../../hosts/virtual/node/boot/factory-flash.js";
import { Flash } from "../../../hosts/virtual/node/boot/flash.js";
import { flashBytes } from "../../../hosts/virtual/node/boot/partitions.js";
import { assertSameBytes } from "../../support/bytes.js";
import { powerOnInVirtualTime } from "../../support/virtual-time.js";

/** Register 0x32, DAC_VOLUME: 0xbf is 0 dB, each step 0.5 dB, 0 mutes (ES8311 data sheet). */
const codecGain = (board: Board) => board.codec.registers[0x32];

/** Bytes that Moddable's output on ESP32 accepts before it starts: five blocks. */
const longestChimeBytes = 5 * 4092;

/** Samples of a chime's WAV file. */
const samplesOf = (chime: string) => readFileSync(`device/chimes/${chime}.wav`).subarray(44);
/** Duration of a chime: 16 samples of 2 bytes a millisecond. */
const msOf = (chime: string) => Math.ceil(samplesOf(chime).length / 32);

for (const chime of chimes)
	test(`queues ${chime} whole before it starts, pads it with silence, and reports idle when it has been played`, async (t) => {
		const { device, connection, pass, command } = await powerOnInVirtualTime(t, "DEV-1");
		const { board } = device;
		const heard: (Sound | undefined)[] = [];
		board.listen({ onSound: (sound) => heard.push(sound) });
		await command({ command: "play_audio", value: chime }, ({ audio }) => audio.player_state === "playing");
		assert.equal(board.isSounding, true);
		assert.equal(codecGain(board), 0xbf - 50, "-25 dB: volume 50");
		const queued = Buffer.concat(board.sound);
		assert.equal(queued.length, longestChimeBytes, "all blocks are filled: no stale samples can sound");
		const samples = samplesOf(chime);
		assertSameBytes(queued.subarray(0, samples.length), samples);
		assertSameBytes(
			queued.subarray(samples.length),
			Buffer.alloc(queued.length - samples.length),
			"silence after the chime",
		);
		assert.deepEqual(heard, [{ samples: queued, sampleRate: 16_000 }], "samples for the demo's page");
		assert.ok(Math.abs(board.gain - 10 ** (-25 / 20)) < 1e-9, `gain of ${board.gain}`);
		await pass(msOf(chime) - 1);
		assert.equal((await connection.query()).peripherals.audio.player_state, "playing");
		await pass(1);
		const idle = await connection.next("state_report");
		assert.deepEqual(
			[idle.peripherals.audio.player_state, idle.peripherals.audio.current_track],
			["idle", "none"],
		);
		assert.equal(codecGain(board), 0, "fades");
		assert.equal(board.isSounding, true, "until the codec has ramped down");
		await pass(40);
		assert.equal(board.isSounding, false);
	});

test("plays a chime in full that starts while another one fades out", async (t) => {
	const { device, pass, command } = await powerOnInVirtualTime(t, "DEV-1");
	const { board } = device;
	await command({ command: "play_audio", value: "startup" }, ({ audio }) => audio.player_state === "playing");
	await pass(msOf("startup"));
	assert.deepEqual([board.isSounding, codecGain(board)], [true, 0], "fading");
	await command({ command: "play_audio", value: "startup" }, ({ audio }) => audio.player_state === "playing");
	await pass(100);
	assert.deepEqual([board.isSounding, codecGain(board)], [true, 0xbf - 50]);
});

/** Flash of a device with these stored values from an earlier start. */
function flashWith(remembered: Readonly<Record<string, string>>): Flash {
	const flash = new Flash({ byteLength: flashBytes });
	flashFactoryImage(flash, makeVirtualImage(Buffer.from("of an earlier start"), "DEV-1", "0.9.0"));
	flashSettings(flash, remembered);
	return flash;
}

test("mutes the codec until the first sound; without a stored volume, unmute sets 50", async (t) => {
	const flash = flashWith({ volume: "0" });
	const { device, connection, pass } = await powerOnInVirtualTime(t, "DEV-1", { flash });
	assert.equal(codecGain(device.board), 0);
	assert.equal((await connection.query()).peripherals.audio.volume, 0);
	device.board.setButton("mute", true);
	await pass(20);
	assert.equal((await connection.query()).peripherals.audio.volume, 50);
	assert.equal(codecGain(device.board), 0);
});

test("stays muted after a power cut, and unmutes to the previous volume", async (t) => {
	const { device, gateway, connection, pass, command } = await powerOnInVirtualTime(t, "DEV-1");
	const stateOf = ({ peripherals: { audio } }: StateReport) => [
		audio.volume,
		audio.muted,
		audio.unmuted_volume,
	];
	await command({ command: "set_volume", value: 30 }, ({ audio }) => audio.volume === 30);
	assert.deepEqual(stateOf(await connection.query()), [30, false, undefined]);
	connection.send({ command: "set_mute", value: true });
	await pass(5000);
	await device.powerCycle();
	const again = await gateway.connection();
	assert.deepEqual(stateOf(await again.next("state_report")), [0, true, 30]);
	again.send({ command: "set_mute", value: false });
	assert.deepEqual(stateOf(await again.query()), [30, false, undefined]);
	again.send({ command: "set_volume", value: 0 });
	assert.deepEqual(stateOf(await again.query()), [0, true, 30]);
	device.board.setButton("mute", true);
	await pass(20);
	assert.deepEqual(stateOf(await again.query()), [30, false, undefined]);
});

test("sets the codec up within 5 s after it responds again", async (t) => {
	const { device, command, pass } = await powerOnInVirtualTime(t, "DEV-1");
	const { codec } = device.board;
	codec.isAnswering = false;
	await command({ command: "set_volume", value: 80 }, ({ audio }) => audio.volume === 80);
	const { peripherals } = await command(
		{ command: "play_audio", value: "startup" },
		({ audio }) => !!audio.fault,
	);
	assert.equal(peripherals.audio.player_state, "idle");
	await pass(1000);
	codec.isAnswering = true;
	codec.registers.fill(0, 0, 0xfd);
	await pass(5000);
	assert.equal(codec.registers[0], 0x80, "powered up");
	await command({ command: "play_audio", value: "startup" }, ({ audio }) => audio.player_state === "playing");
	assert.equal(codecGain(device.board), 0xbf - 20);
});

test("has chimes that fit the output and start and end without a click", () => {
	for (const chime of chimes) {
		assert.ok(samplesOf(chime).length <= longestChimeBytes, `${chime} has ${samplesOf(chime).length} bytes`);
		assert.equal(samplesOf(chime).readInt16LE(0), 0, "no click at the start");
		assert.ok(Math.abs(samplesOf(chime).readInt16LE(samplesOf(chime).length - 2)) < 100, "nor at the end");
	}
});

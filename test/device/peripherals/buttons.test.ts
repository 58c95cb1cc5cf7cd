import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { ButtonName } from "../../../device/host.js";
import { powerOnInVirtualTime } from "../../support/virtual-time.js";

test("debounces a contact, and reports one press after 20 ms of a stable level", async (t) => {
	const { device, connection, pass } = await powerOnInVirtualTime(t, "DEV-1");
	for (const level of [true, false, true, false, true]) {
		device.board.setButton("volumeUp", level);
		await pass(5);
	}
	// The last edge is 5 ms ago.
	await pass(14);
	const bouncing = await connection.query();
	assert.equal(bouncing.peripherals.buttons.btn_vol_up, false);
	assert.equal(bouncing.peripherals.audio.volume, 50);
	await pass(1);
	const pressed = await connection.next("state_report");
	assert.equal(pressed.peripherals.buttons.btn_vol_up, true);
	assert.equal(pressed.peripherals.audio.volume, 55);
	for (const level of [false, true, false]) {
		device.board.setButton("volumeUp", level);
		await pass(5);
	}
	await pass(20);
	const released = await connection.next("state_report");
	assert.equal(released.peripherals.buttons.btn_vol_up, false);
	assert.equal(released.peripherals.audio.volume, 55, "a release has no effect");
});

test("ignores a spike shorter than 20 ms", async (t) => {
	const { device, connection, pass } = await powerOnInVirtualTime(t, "DEV-1");
	device.board.setButton("mute", true);
	await pass(10);
	device.board.setButton("mute", false);
	await pass(100);
	const { peripherals } = await connection.query();
	assert.equal(peripherals.audio.volume, 50);
});

test("each button does what the interface specifies, and is reported while it is held", async (t) => {
	const { device, connection, pass, command } = await powerOnInVirtualTime(t, "DEV-1");
	const press = async (name: ButtonName) => {
		device.board.setButton(name, true);
		await pass(20);
		const { peripherals } = await connection.next("state_report");
		device.board.setButton(name, false);
		await pass(20);
		await connection.next("state_report");
		return peripherals;
	};
	assert.equal((await press("volumeDown")).audio.volume, 45);
	const muted = await press("mute");
	assert.equal(muted.audio.volume, 0);
	assert.equal(muted.buttons.btn_mute, true);
	assert.equal((await press("mute")).audio.volume, 45, "and back");
	await command({ command: "set_volume", value: 98 }, ({ audio }) => audio.volume === 98);
	assert.equal((await press("volumeUp")).audio.volume, 100);
	assert.equal((await press("volumeUp")).audio.volume, 100, "not above");
	await command({ command: "set_volume", value: 3 }, ({ audio }) => audio.volume === 3);
	assert.equal((await press("volumeDown")).audio.volume, 0, "not below");
	const playing = await press("play");
	assert.deepEqual(
		[playing.audio.player_state, playing.audio.current_track],
		["playing", "file:///chimes/startup"],
	);
	assert.equal((await press("play")).audio.player_state, "paused");
	assert.equal((await press("play")).audio.player_state, "playing");
});

describe("volume while muted", () => {
	const muting = async (t: TestContext, volume: number) => {
		const timed = await powerOnInVirtualTime(t, "DEV-1");
		const { device, connection, pass, command } = timed;
		await command({ command: "set_volume", value: volume }, ({ audio }) => audio.volume === volume);
		/** @returns the resulting volume */
		const press = async (name: ButtonName) => {
			device.board.setButton(name, true);
			await pass(20);
			await connection.next("state_report");
			device.board.setButton(name, false);
			await pass(20);
			return (await connection.next("state_report")).peripherals.audio.volume;
		};
		return { ...timed, press };
	};

	for (const [name, volume] of [
		["volumeUp", 45],
		["volumeDown", 35],
	] as const) {
		test(`${name} continues from the volume before the mute button`, async (t) => {
			const { press } = await muting(t, 40);
			assert.equal(await press("mute"), 0);
			assert.equal(await press(name), volume);
			assert.equal(await press("mute"), 0);
			assert.equal(await press("mute"), volume);
		});

		test(`${name} continues from the volume before set_volume 0`, async (t) => {
			const { press, command } = await muting(t, 40);
			await command({ command: "set_volume", value: 0 }, ({ audio }) => audio.volume === 0);
			assert.equal(await press(name), volume);
		});
	}

	test("volume up continues from 0 after turning down to 0", async (t) => {
		const { press } = await muting(t, 8);
		assert.equal(await press("volumeDown"), 3);
		assert.equal(await press("volumeDown"), 0);
		assert.equal(await press("volumeDown"), 0);
		assert.equal(await press("volumeUp"), 5);
		assert.equal(await press("volumeDown"), 0);
		assert.equal(await press("mute"), 5, "last audible volume");
	});

	test("stays within the range", async (t) => {
		const { press, command } = await muting(t, 98);
		await press("mute");
		assert.equal(await press("volumeUp"), 100);
		await command({ command: "set_volume", value: 4 }, ({ audio }) => audio.volume === 4);
		await press("mute");
		assert.equal(await press("volumeDown"), 0);
		assert.equal(await press("volumeUp"), 5);
	});
});

test("reports a button held during the start, and triggers nothing until it is pressed again", async (t) => {
	const { device, gateway, pass } = await powerOnInVirtualTime(t, "DEV-1");
	const { board } = device;
	const held = ["play", "mute", "volumeUp"] as const;
	for (const name of held) board.setButton(name, true);
	await device.powerCycle();
	const connection = await gateway.connection();
	await pass(19);
	const { btn_play } = (await connection.next("state_report")).peripherals.buttons;
	assert.equal(btn_play, false, "not debounced yet");
	await pass(1);
	const started = await connection.next(
		"state_report",
		({ peripherals: { buttons } }) => buttons.btn_play && buttons.btn_mute && buttons.btn_vol_up,
	);
	assert.equal(started.peripherals.buttons.btn_vol_down, false);
	const { audio } = started.peripherals;
	assert.deepEqual([audio.player_state, audio.volume], ["idle", 50]);

	for (const name of held) board.setButton(name, false);
	await pass(20);
	const released = await connection.next(
		"state_report",
		({ peripherals: { buttons } }) => !buttons.btn_play && !buttons.btn_mute && !buttons.btn_vol_up,
	);
	assert.deepEqual(released.peripherals.audio, audio);
	board.setButton("play", true);
	await pass(20);
	await connection.next("state_report", ({ peripherals }) => peripherals.audio.player_state === "playing");
});

test("a button released during the start is not pressed", async (t) => {
	const { device, gateway, pass } = await powerOnInVirtualTime(t, "DEV-1");
	device.board.setButton("play", true);
	await device.powerCycle();
	const connection = await gateway.connection();
	await connection.next("state_report");
	device.board.setButton("play", false);
	await pass(100);
	const { buttons, audio } = (await connection.query()).peripherals;
	assert.deepEqual([buttons.btn_play, audio.player_state], [false, "idle"]);
});

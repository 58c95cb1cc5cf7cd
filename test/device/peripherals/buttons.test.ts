import assert from "node:assert/strict";
import { test } from "node:test";
import type { ButtonName } from "../../../device/host.js";
import { powerOnInVirtualTime } from "../virtual-time.js";

test("a bouncing contact is one press, told when its level has stood for 20 ms", async (t) => {
	const { device, connection, pass } = await powerOnInVirtualTime(t, "DEV-1");
	for (const level of [true, false, true, false, true]) {
		device.board.setButton("volumeUp", level);
		await pass(5);
	}
	// The last edge is 5 ms old.
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
	assert.equal(released.peripherals.audio.volume, 55, "a release does nothing");
});

test("a spike shorter than 20 ms is no press", async (t) => {
	const { device, connection, pass } = await powerOnInVirtualTime(t, "DEV-1");
	device.board.setButton("mute", true);
	await pass(10);
	device.board.setButton("mute", false);
	await pass(100);
	const { peripherals } = await connection.query();
	assert.equal(peripherals.audio.volume, 50);
});

test("each button does what the interface decides, and shows while it is held", async (t) => {
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

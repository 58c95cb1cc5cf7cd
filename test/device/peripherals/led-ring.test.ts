import assert from "node:assert/strict";
import { test } from "node:test";
import { allPixels, dark, red, ringOf } from "../../support/ring.js";
import { powerOnInVirtualTime } from "../../support/virtual-time.js";

test("draws thirty frames a second for an animated pattern and none for a static one", async (t) => {
	const { device, command, pass } = await powerOnInVirtualTime(t, "DEV-1");
	const framesInSeconds = async (seconds: number) => {
		const before = device.board.frameCount;
		await pass(seconds * 1000);
		return device.board.frameCount - before;
	};
	assert.equal(await framesInSeconds(3.3), 100, "rainbow: each 33 ms");
	await command({ command: "set_led", value: "failed" }, ({ led_ring }) => led_ring.state_id === 2);
	assert.equal(await framesInSeconds(10), 0);
	assert.equal(ringOf(device), red);
	await command({ command: "set_brightness", value: 1 }, ({ led_ring }) => led_ring.brightness_coef === 1);
	assert.equal(ringOf(device), allPixels("ff0000"), "at once");
	await command({ command: "set_led", value: "connecting" }, ({ led_ring }) => led_ring.state_id === 3);
	assert.equal(await framesInSeconds(10), 20, "two a second: on and off");
	await command({ command: "set_led", value: "idle" }, ({ led_ring }) => led_ring.state_id === 0);
	assert.equal(await framesInSeconds(10), 0);
	assert.equal(ringOf(device), dark);
});

test("a command overrides the connection state until that changes", async (t) => {
	const { gateway, connection, command, pass, device } = await powerOnInVirtualTime(t, "DEV-1");
	await command({ command: "set_led", value: "idle" }, ({ led_ring }) => led_ring.state_id === 0);
	await pass(20_000);
	connection.socket.terminate();
	await connection.closed;
	await pass(1000);
	const again = await gateway.connection();
	const { peripherals } = await again.next("state_report");
	assert.equal(peripherals.led_ring.state_id, 5);
	assert.notEqual(ringOf(device), dark);
});

test("sends a report after each set_led, even if it changes nothing", async (t) => {
	const { connection } = await powerOnInVirtualTime(t, "DEV-1");
	// The clock is stopped: no periodic report is sent.
	for (const [value, state_id] of [
		["rainbow", 5],
		["rainbow", 5],
		["failed", 2],
		["failed", 2],
	] as const) {
		connection.send({ command: "set_led", value });
		const { peripherals } = await connection.next("state_report");
		assert.equal(peripherals.led_ring.state_id, state_id);
	}
});

test("identify flashes white for three seconds, even at brightness 0, and restores the previous pattern", async (t) => {
	const { device, command, pass } = await powerOnInVirtualTime(t, "DEV-1");
	await command({ command: "set_brightness", value: 0 }, ({ led_ring }) => led_ring.brightness_coef === 0);
	await command({ command: "set_led", value: "failed" }, ({ led_ring }) => led_ring.state_id === 2);
	const { peripherals } = await command(
		{ command: "identify" },
		({ audio }) => audio.current_track === "file:///chimes/startup",
	);
	assert.equal(peripherals.led_ring.state_id, 2, "state to restore");
	for (let flash = 0; flash < 6; flash++) {
		assert.equal(ringOf(device), allPixels("2f2f2f"), `flash ${flash}`);
		await pass(250);
		assert.equal(ringOf(device), dark);
		await pass(250);
	}
	await pass(250);
	assert.equal(ringOf(device), dark, "no longer");
	await command(
		{ command: "set_brightness", value: 0.5 },
		({ led_ring }) => led_ring.brightness_coef === 0.5,
	);
	assert.equal(ringOf(device), red);
});

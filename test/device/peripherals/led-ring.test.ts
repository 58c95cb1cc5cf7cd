import assert from "node:assert/strict";
import { test } from "node:test";
import { powerOnInVirtualTime } from "../../support/virtual-time.js";

const dark = Buffer.alloc(36).toString("hex");
const all = (rgb: string) => rgb.repeat(12);

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
	assert.equal(hex(device.board.pixels), all("2f0000"));
	await command({ command: "set_led", value: "connecting" }, ({ led_ring }) => led_ring.state_id === 3);
	assert.equal(await framesInSeconds(10), 20, "two a second: on and off");
	await command({ command: "set_led", value: "idle" }, ({ led_ring }) => led_ring.state_id === 0);
	assert.equal(await framesInSeconds(10), 0);
	assert.equal(hex(device.board.pixels), dark);
});

test("draws pixels by state, time and brightness", async (t) => {
	const { device, command, pass } = await powerOnInVirtualTime(t, "DEV-1");
	await command({ command: "set_brightness", value: 1 }, ({ led_ring }) => led_ring.brightness_coef === 1);
	await command({ command: "set_led", value: "connecting" }, ({ led_ring }) => led_ring.state_id === 3);
	assert.equal(hex(device.board.pixels), all("ff6000"));
	await pass(500);
	assert.equal(hex(device.board.pixels), dark);
	await pass(500);
	assert.equal(hex(device.board.pixels), all("ff6000"));
	await command(
		{ command: "set_brightness", value: 0.5 },
		({ led_ring }) => led_ring.brightness_coef === 0.5,
	);
	assert.equal(hex(device.board.pixels), all("2f1200"), "immediately, not with the next frame");
	await command({ command: "set_led", value: "updating" }, ({ led_ring }) => led_ring.state_id === 6);
	const blues = new Set<number>();
	for (let frame = 0; frame < 91; frame++) {
		await pass(33);
		blues.add(device.board.pixels[2] ?? 0);
	}
	assert.ok(blues.size > 20, `${blues.size} steps of blue in a breath`);
	assert.equal(Math.max(...blues), 47);
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
	assert.notEqual(hex(device.board.pixels), dark);
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

function hex(pixels: Uint8Array): string {
	return Buffer.from(pixels).toString("hex");
}

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
		assert.equal(hex(device.board.pixels), all("2f2f2f"), `flash ${flash}`);
		await pass(250);
		assert.equal(hex(device.board.pixels), dark);
		await pass(250);
	}
	await pass(250);
	assert.equal(hex(device.board.pixels), dark, "no longer");
	await command(
		{ command: "set_brightness", value: 0.5 },
		({ led_ring }) => led_ring.brightness_coef === 0.5,
	);
	assert.equal(hex(device.board.pixels), all("2f0000"));
});

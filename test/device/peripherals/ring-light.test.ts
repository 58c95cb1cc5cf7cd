/** Overlays on the ring: volume, playing sound, `set_light` and ambient brightness. */

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import type { VirtualDevice } from "../../../hosts/virtual/node/virtual-device.js";
import { listen } from "../../support/ports.js";
import { allPixels, pixelsOf, ringOf } from "../../support/ring.js";
import { bytesPerSecond, noise, serveSound, wav } from "../../support/sounds.js";
import { passUntil, powerOnInVirtualTime } from "../../support/virtual-time.js";

const litOf = (device: VirtualDevice) => pixelsOf(device).filter((pixel) => pixel !== "000000").length;

/** Turns the ring off. */
async function powerOnDark(...[t, model]: Parameters<typeof powerOnInVirtualTime>) {
	const timed = await powerOnInVirtualTime(t, model);
	await timed.command({ command: "set_led", value: "idle" }, ({ led_ring }) => led_ring.state_id === 0);
	await timed.command(
		{ command: "set_brightness", value: 1 },
		({ led_ring }) => led_ring.brightness_coef === 1,
	);
	return timed;
}

test("shows the volume for a second and a half as an arc whose last LED is dim for a fraction", async (t) => {
	const { device, command, pass } = await powerOnDark(t, "DEV-1");
	await command({ command: "set_volume", value: 55 }, ({ audio }) => audio.volume === 55);
	const [first, ...rest] = pixelsOf(device);
	assert.equal(litOf(device), 7, "6.6 of 12");
	assert.deepEqual(rest.slice(0, 5), Array(5).fill(first));
	assert.notEqual(rest[5], first);
	await pass(1490);
	assert.equal(litOf(device), 7);
	await pass(20);
	assert.equal(litOf(device), 0, "previous state");
	device.board.setButton("volumeUp", true);
	await pass(100);
	assert.equal(litOf(device), 8, "by button: 60 of 100 is 7.2 of 12");
});

test("shows one red LED when muted", async (t) => {
	const { device, command } = await powerOnDark(t, "DEV-1");
	await command({ command: "set_volume", value: 0 }, ({ audio }) => audio.volume === 0);
	assert.deepEqual([pixelsOf(device)[0], litOf(device)], ["ff0000", 1]);
});

test("shows a light above the state, which is still reported, until null, set_led or its seconds end it", async (t) => {
	const { device, command, pass } = await powerOnInVirtualTime(t, "DEV-1");
	await command({ command: "set_brightness", value: 1 }, ({ led_ring }) => led_ring.brightness_coef === 1);
	const orange = { color: "#ff8800", effect: "solid" };
	const lit = await command(
		{ command: "set_light", value: { color: [255, 136, 0] } },
		({ led_ring }) => !!led_ring.light,
	);
	assert.deepEqual(lit.peripherals.led_ring, {
		state_id: 5,
		state_name: "rainbow",
		brightness_coef: 1,
		light: orange,
	});
	assert.equal(ringOf(device), allPixels("ff8800"));
	await pass(60_000);
	assert.equal(ringOf(device), allPixels("ff8800"), "without end");
	await command({ command: "set_light", value: null }, ({ led_ring }) => !led_ring.light);
	assert.ok(new Set(pixelsOf(device)).size > 2, "the rainbow");

	await command(
		{ command: "set_light", value: { color: "#0000FF", seconds: 3 } },
		({ led_ring }) => led_ring.light?.color === "#0000ff",
	);
	await pass(2900);
	assert.equal(ringOf(device), allPixels("0000ff"));
	await pass(200);
	assert.ok(new Set(pixelsOf(device)).size > 2, `pixels: ${pixelsOf(device)}`);
	await command({ command: "query_state" }, ({ led_ring }) => !led_ring.light);

	await command({ command: "set_light", value: { color: "#00ff00" } }, ({ led_ring }) => !!led_ring.light);
	const { peripherals } = await command(
		{ command: "set_led", value: "failed" },
		({ led_ring }) => led_ring.state_id === 2,
	);
	assert.equal(peripherals.led_ring.light, undefined);
	assert.equal(ringOf(device), allPixels("ff0000"));
});

test("draws light effects: progress is an arc, blink is dark half of each second, turn has one brightest LED, breathe is never dark", async (t) => {
	const { device, command, pass } = await powerOnDark(t, "DEV-1");
	const show = (value: object) =>
		command({ command: "set_light", value }, ({ led_ring }) => !!led_ring.light);
	const { peripherals } = await show({ color: "#00ff00", effect: "progress", progress: 0.4 });
	assert.equal(peripherals.led_ring.light?.progress, 0.4);
	assert.equal(litOf(device), 5, "4.8 of 12");
	await show({ color: "#00ff00", effect: "blink" });
	assert.equal(litOf(device), 12);
	await pass(500);
	assert.equal(litOf(device), 0);
	await show({ color: "#00ff00", effect: "turn" });
	const heads = new Set<number>();
	for (let frame = 0; frame < 60; frame++) {
		await pass(33);
		const pixels = pixelsOf(device);
		assert.ok(litOf(device) >= 3 && litOf(device) <= 5, `${pixels}`);
		heads.add(pixels.indexOf([...pixels].sort().at(-1) ?? ""));
	}
	assert.equal(heads.size, 12, "completes a turn");
	await show({ color: "#00ff00", effect: "breathe" });
	const greens = new Set<string | undefined>();
	for (let frame = 0; frame < 91; frame++) {
		await pass(33);
		greens.add(pixelsOf(device)[0]);
	}
	assert.ok(greens.size > 20 && !greens.has("000000"), `${[...greens]}`);
});

test("shows an update above a light, even if the ring showed the update state before", async (t) => {
	const silent = `http://127.0.0.1:${await listen(t, createServer())}/firmware.bin`;
	const { device, connection, command, pass } = await powerOnDark(t, "DEV-1");
	await command({ command: "set_led", value: "updating" }, ({ led_ring }) => led_ring.state_id === 6);
	await command({ command: "set_light", value: { color: "#ff0000" } }, ({ led_ring }) => !!led_ring.light);
	assert.equal(ringOf(device), allPixels("ff0000"));
	connection.send({ command: "start_ota", url: silent });
	await connection.query();
	await pass(1500);
	assert.match(pixelsOf(device)[0] ?? "", /^0000/, "blue");
});

test("turns a light while a network sound is loaded and played", async (t) => {
	const server = await serveSound(t, wav(noise(bytesPerSecond)));
	const { device, connection, pass } = await powerOnDark(t, "DEV-1");
	connection.send({ command: "play_sound", value: { id: "one", url: server.url } });
	const playing = connection.next("sound_update", ({ state }) => state === "playing");
	await passUntil(device, playing);
	const before = pixelsOf(device);
	assert.notEqual(litOf(device), 0);
	await pass(500);
	assert.notDeepEqual(pixelsOf(device), before, "it turns");
	const played = connection.next("sound_update", ({ state }) => state === "played");
	await passUntil(device, played);
	await pass(1);
	assert.equal(litOf(device), 0);
});

test("follows the room brightness smoothly on a PROTO-1, never above the set brightness, and stores the setting", async (t) => {
	const { device, command, pass } = await powerOnDark(t, "PROTO-1");
	await command({ command: "set_light", value: { color: "#ffffff" } }, ({ led_ring }) => !!led_ring.light);
	const level = () => Number.parseInt(pixelsOf(device)[0] ?? "", 16) & 0xff;
	const { peripherals } = await command(
		{ command: "set_auto_brightness", value: true },
		({ led_ring }) => led_ring.auto_brightness === true,
	);
	assert.equal(peripherals.led_ring.brightness_coef, 1, "as set");
	device.board.light = 4095;
	await pass(20_000);
	assert.ok(level() >= 250, `${level()} in a bright room`);
	device.board.light = 0;
	let previous = level();
	for (let step = 0; step < 200; step++) {
		await pass(100);
		assert.ok(level() <= previous, "no flicker");
		assert.ok(previous - level() <= 12, `${previous} to ${level()}`);
		previous = level();
	}
	assert.ok(previous > 0 && previous < 12, `${previous} in a dark room`);
	assert.equal(device.setting("auto_bright"), "1");
	await command(
		{ command: "set_auto_brightness", value: false },
		({ led_ring }) => led_ring.auto_brightness === undefined,
	);
	assert.equal(level(), 255);
});

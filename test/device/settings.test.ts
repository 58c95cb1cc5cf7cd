import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../gateway/running.js";
import { powerOn, runScriptedGateway } from "./scripted-gateway.js";
import { pass } from "./virtual-time.js";

test("what was set survives a restart, for an image that was built without it", async (t) => {
	const gateway = await runScriptedGateway(t);
	const settingsFile = join(await temporaryDirectory(t), "settings.json");
	const flashed = await powerOn(t, gateway, "PROTO-1", { settingsFile, clock: "virtual" });
	const first = await gateway.connection();
	await first.next("state_report");
	first.send({ command: "set_volume", value: 12 });
	first.send({ command: "set_brightness", value: 0.25 });
	first.send({ command: "set_haptics", value: 34 });
	await first.next("state_report", ({ peripherals }) => peripherals.haptic_intensity === 34);
	await pass(flashed, 5000);
	await flashed.close();

	await powerOn(t, gateway, "PROTO-1", { settingsFile, config: { gateway: "", token: "", ssid: "" } });
	const again = await gateway.connection();
	assert.equal(again.headers.authorization, first.headers.authorization);
	const { peripherals } = await again.next("state_report");
	assert.equal(peripherals.audio.volume, 12);
	assert.equal(peripherals.led_ring.brightness_coef, 0.25);
	assert.equal(peripherals.haptic_intensity, 34);
});

test("what the command line gives stands over what is kept", async (t) => {
	const settingsFile = join(await temporaryDirectory(t), "settings.json");
	const old = await runScriptedGateway(t);
	const first = await powerOn(t, old, "DEV-1", { settingsFile });
	await old.connection();
	await first.close();
	const moved = await runScriptedGateway(t);
	await powerOn(t, moved, "DEV-1", { settingsFile });
	await moved.connection();
});

test("a device that was told of no network, or of no gateway, says so by its ring and lives on", async (t) => {
	for (const [config, colour] of [
		[{ gateway: "ws://127.0.0.1:1/device", token: "t", ssid: "" }, "2f0000"],
		[{ gateway: "", token: "t" }, "2f1200"],
		[{ gateway: "http://127.0.0.1", token: "t" }, "2f1200"],
	] as const) {
		const device = await powerOn(t, { url: "" }, "DEV-1", { config, clock: "virtual" });
		await pass(device, 60_000);
		assert.equal(Buffer.from(device.board.pixels).toString("hex"), colour.repeat(12));
		device.board.setButton("play", true);
		await pass(device, 20);
		assert.ok(device.board.isSounding, "its buttons work without a network");
		await device.close();
	}
});

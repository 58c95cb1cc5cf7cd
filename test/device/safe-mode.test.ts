import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import { onEnd } from "../support/cleanup.js";
import { listen } from "../support/ports.js";
import { sendRange } from "../support/ranges.js";
import { powerOn, runScriptedGateway } from "../support/scripted-gateway.js";
import { pass, passUntil, passUntilTrue } from "../support/virtual-time.js";

test("starts a confirmed image that crashes at each start in safe mode, and updates it from there", async (t) => {
	const gateway = await runScriptedGateway(t);
	const program = await buildFirmware({
		"peripherals/haptics": "test/hosts/virtual/xs/firmware/crashing-motor.ts",
	});
	const good = makeVirtualImage((await buildFirmware()).bytes, "PROTO-1", "2.0.0");
	const server = createServer((request, response) => sendRange(request, response, good));
	const url = `http://127.0.0.1:${await listen(t, server)}/firmware.bin`;
	const starts: string[] = [];
	const device = await VirtualDevice.start({
		model: "PROTO-1",
		serial: "a1b2c3",
		clock: "virtual",
		program,
		version: "1.0.0",
		settings: { gateway: gateway.url, token: "t" },
		// It crashes before it is connected, even on a fast computer.
		accessPoints: [],
		onBoot: ({ version }) => starts.push(version),
		restartsAfterCrash: true,
	});
	onEnd(t, () => device.close());

	await passUntilTrue(device, 1000, () => starts.length >= 4);
	device.board.accessPoints = [{ ssid: "virtual", rssi: -50 }];
	const connection = await passUntil(device, gateway.connection());
	const report = await connection.next("state_report");
	assert.equal(starts.length, 4, "three crashes before safe mode");
	assert.equal(report.health.safe_mode, true);
	const { audio, haptic_intensity, touch_active } = report.peripherals;
	assert.deepEqual([audio.player_state, haptic_intensity, touch_active], ["idle", 0, false]);
	for (const command of [
		{ command: "set_volume", value: 20 },
		{ command: "play_audio", value: "startup" },
		{ command: "set_haptics", value: 20 },
	]) {
		connection.send(command);
		const { code, message } = await connection.next("command_error");
		assert.equal(code, "busy");
		assert.match(message, /safe mode/);
	}
	connection.send({ command: "start_ota", url });
	const again = await passUntil(device, gateway.connection());
	const { system, health } = await again.next("state_report");
	assert.deepEqual([system.firmware_version, health.safe_mode], ["2.0.0", undefined]);
	assert.equal(device.board.sound.length, 0);
});

test("counts no restart by the firmware as a crash, such as erasing the settings four times within 60 s", async (t) => {
	const gateway = await runScriptedGateway(t);
	const starts: string[] = [];
	const device = await powerOn(t, gateway, "DEV-1", {
		clock: "virtual",
		accessPoints: [],
		onBoot: ({ resetReason }) => starts.push(resetReason),
	});
	for (const count of [2, 3, 4, 5]) {
		for (const name of ["play", "mute"] as const) device.board.setButton(name, true);
		await passUntilTrue(device, 1000, () => starts.length >= count);
		for (const name of ["play", "mute"] as const) device.board.setButton(name, false);
		await pass(device, 100);
	}
	assert.equal(starts.at(-1), "SW_RESET");
	device.board.setButton("play", true);
	await pass(device, 20);
	assert.equal(device.board.isSounding, true);
});

test("does not count a start that reaches the gateway, however short", async (t) => {
	const gateway = await runScriptedGateway(t);
	const device = await powerOn(t, gateway, "DEV-1", { clock: "virtual" });
	for (let start = 0; start < 4; start++) {
		const { health } = await (await gateway.connection()).next("state_report");
		assert.equal(health.safe_mode, undefined);
		await device.brownOut();
	}
});

import assert from "node:assert/strict";
import { chmodSync, statSync } from "node:fs";
import { test } from "node:test";
import { findXs } from "../../../hosts/virtual/node/xs.js";
import { runCommand } from "../../support/command-line.js";
import { temporaryDirectory } from "../../support/running.js";
import { runScriptedGateway } from "../../support/scripted-gateway.js";

const script = "scripts/device.ts";
const token = "device-token-of-the-tests";

test("connects, is controlled by JSON lines, and rejects invalid ones with a reason", async (t) => {
	const gateway = await runScriptedGateway(t);
	const DATA_DIR = await temporaryDirectory(t);
	const device = runCommand(t, script, ["--model", "proto-1", "--gateway", gateway.url], {
		DATA_DIR,
		DEVICE_TOKEN: `${token},previous-token-of-the-tests`,
	});
	const connection = await gateway.connection();
	assert.equal(connection.headers.authorization, `Bearer ${token}`, "the new one of two");
	await connection.next("state_report");
	await device.printed(/proto-1-020000[0-9a-f]{6} is running/);
	assert.ok(device.output().includes(`Engine: ${findXs().description}\n`), device.output());

	device.type('{"button":"volumeUp","pressed":true}');
	const pressed = await connection.next("state_report", (report) => report.peripherals.buttons.btn_vol_up);
	assert.equal(pressed.peripherals.audio.volume, 55);
	device.type('{"button":"volumeUp","pressed":false}');
	await connection.next("state_report", (report) => !report.peripherals.buttons.btn_vol_up);
	device.type('{"touch":true}');
	await connection.next("state_report", (report) => report.peripherals.touch_active === true);
	device.type('{"light":4000}');
	await connection.next("state_report", (report) => report.peripherals.ambient_light === 4000);

	device.type('{"rssi":-77}');
	await connection.next("state_report", (report) => report.network.wifi_rssi === -77);

	device.type("press play");
	await device.printed(/Invalid JSON\. Examples: /);
	device.type('{"light":5000}');
	await device.printed(/light must be an integer from 0 to 4095/);
	device.type('{"button":"stop","pressed":true}');
	await device.printed(/button must be one of play, mute, volumeUp, volumeDown/);
	device.type('{"moon":1}');
	await device.printed(/Unknown input\. Examples: /);

	device.type('{"wifi":false}');
	await connection.closed;
	device.type('{"wifi":true}');
	const again = await gateway.connection();
	await again.next("state_report");

	device.process.kill("SIGTERM");
	assert.equal(await device.exitCode, 0);
	await device.processesGone();
});

test("restarts after a change of the firmware's sources", async (t) => {
	const gateway = await runScriptedGateway(t);
	const DATA_DIR = await temporaryDirectory(t);
	const args = ["--model", "dev-1", "--gateway", gateway.url, "--watch"];
	const device = runCommand(t, script, args, { DATA_DIR, DEVICE_TOKEN: token });
	const first = await gateway.connection();
	await device.printed(/is running/);
	// Changes no content, as other tests read this file.
	chmodSync("device/rules.ts", statSync("device/rules.ts").mode);
	await first.closed;
	const { health } = await (await gateway.connection()).next("state_report");
	assert.equal(health.reset_reason, "POWERON_RESET");
});

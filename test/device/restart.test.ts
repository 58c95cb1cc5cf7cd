import assert from "node:assert/strict";
import { test } from "node:test";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { runFleet } from "../support/fleet.js";
import { passUntil, powerOnInVirtualTime } from "../support/virtual-time.js";

const restart = { command: "restart" };

test("closes its connection, restarts and returns with its settings, without a crash report", async (t) => {
	const { device, gateway, connection, pass, command } = await powerOnInVirtualTime(t, "DEV-1");
	await pass(300_000);
	const before = await command({ command: "set_volume", value: 7 }, ({ audio }) => audio.volume === 7);
	assert.ok(
		before.health.uptime_seconds >= 300,
		`uptime of ${before.health.uptime_seconds} s before the restart`,
	);
	const storedAt = Number(device.setting("clock"));
	connection.send(restart);
	assert.equal(await passUntil(device, connection.closed), 1000, "closes in order before it restarts");
	const back = await passUntil(device, gateway.connection());
	const { health, peripherals } = await back.next("state_report");
	assert.equal(health.reset_reason, "SW_RESET");
	assert.ok(health.uptime_seconds < 60, `uptime of ${health.uptime_seconds} s after the restart`);
	assert.equal(health.safe_mode, undefined);
	assert.equal(peripherals.audio.volume, 7, "changed just before the restart");
	const storedSeconds = Number(device.setting("clock")) - storedAt;
	assert.ok(storedSeconds >= 300, `time of the restart: ${storedSeconds} s after the last one stored`);
	back.send({ command: "query_crash" });
	assert.equal((await back.next("crash_report")).crash, undefined);
	assert.match(String(back.headers["device-features"]), /\brestart\b/);
});

test("does not restart while its firmware is unconfirmed, because the boot loader would roll it back", async (t) => {
	const fleet = await runFleet(t);
	const codec = "test/hosts/virtual/xs/firmware/dead-codec.ts";
	const { bytes } = await buildFirmware({ "board/es8311": codec });
	await fleet.release("2.0.0", makeVirtualImage(bytes, "DEV-1", "2.0.0"));
	const { device, deviceId, report, control, rejection } = await fleet.powerOn("DEV-1", {
		version: "1.0.0",
		clock: "virtual",
	});
	await report();
	await fleet.monitorClient.request({ type: "trigger_ota", targetId: deviceId });
	await passUntil(device, fleet.updateResult(deviceId));
	assert.equal(device.isPendingVerify, true);
	await control(restart);
	const { command, code, message } = await rejection();
	assert.deepEqual([command, code], ["restart", "busy"]);
	assert.match(message, /not confirmed yet/);
	assert.equal(device.started.version, "2.0.0");
});

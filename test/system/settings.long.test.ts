import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { uplinks } from "../../device/protocol/messages.js";
import { matches } from "../../device/protocol/schema.js";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import type { VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import { waitUntil } from "../support/eventually.js";
import { runFleet } from "../support/fleet.js";
import type { Client } from "../support/running.js";

const devices = 50;
const updates = 100;

/** Reads the trial results of this many devices. */
async function resultsOf(monitor: Client, count: number): Promise<Map<string, string>> {
	const results = new Map<string, string>();
	while (results.size < count) {
		const { message } = await monitor.until(({ type }) => type === "device_message");
		if (!matches(uplinks.settings_result, message)) continue;
		assert.ok(!results.has(message.deviceId), "reported once");
		results.set(message.deviceId, `${message.outcome}: ${message.reason}`);
	}
	return results;
}

/** Advances the clocks of all devices, across their restarts, until a promise resolves. */
async function passAllUntil<T>(all: readonly VirtualDevice[], awaited: Promise<T>): Promise<T> {
	let isOver = false;
	const end = () => {
		isOver = true;
	};
	awaited.then(end, end);
	while (!isOver) {
		await setTimeout(3);
		await Promise.all(all.map((device) => device.machine.advance(500).catch(() => {})));
	}
	return awaited;
}

test(`${devices} devices revert wrong settings sent to all at once`, async (t) => {
	const fleet = await runFleet(t);
	const program = await buildFirmware();
	const all: VirtualDevice[] = [];
	for (let index = 0; index < devices; index++) {
		const serial = (0xa00000 + index).toString(16);
		const { device, report } = await fleet.powerOn("DEV-1", { serial, program, clock: "virtual" });
		await report();
		all.push(device);
	}
	const gateways = all.map((device) => device.setting("gateway"));
	const wrong = { gateway: "ws://127.0.0.1:1/device", token: "wrong-token" };
	for (const { deviceId } of all) {
		const payload = { command: "set_settings", value: wrong };
		const answer = await fleet.monitorClient.request({ type: "control_device", targetId: deviceId, payload });
		assert.equal(answer.type, "ack", JSON.stringify(answer));
	}
	const results = await passAllUntil(all, resultsOf(fleet.monitorClient, devices));
	assert.deepEqual([...new Set(results.values())], ["returned: no connection to 127.0.0.1:1"]);
	assert.deepEqual(
		all.map((device) => device.setting("gateway")),
		gateways,
	);
	for (const device of all)
		for (const name of ["trial", "new_gateway", "new_token"]) assert.equal(device.setting(name), undefined);
});

test(`settings received without a cable survive ${updates} updates`, async (t) => {
	const fleet = await runFleet(t);
	const program = await buildFirmware();
	const versions = ["1.1.0", "1.2.0"] as const;
	for (const version of versions)
		await fleet.release(version, makeVirtualImage(program.bytes, "DEV-1", version));
	const { device, deviceId, report, control } = await fleet.powerOn("DEV-1", { version: "1.0.0" });
	await report();
	await control({ command: "set_settings", value: { sntp: "time.example", password: "new password" } });
	await resultsOf(fleet.monitorClient, 1);
	const names = ["ssid", "password", "gateway", "token", "ca", "sntp"];
	const settings = () => names.map((name) => device.setting(name));
	const before = settings();
	assert.deepEqual([before[1], before[5]], ["new password", "time.example"]);
	for (let update = 0; update < updates; update++) {
		const version = versions[update % 2];
		await fleet.monitorClient.request({ type: "trigger_ota", targetId: deviceId, version });
		await report((state) => state.system.firmware_version === version);
		assert.equal((await fleet.updateResult(deviceId)).otaStatus, "updated");
		await waitUntil(() => !device.isPendingVerify);
	}
	assert.deepEqual(settings(), before);
	assert.equal(device.board.timeServer, "time.example");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { runFleet } from "../support/fleet.js";
import { pass, passUntil } from "../support/virtual-time.js";

for (const [name, answeredBefore] of [
	["whose codec has failed since its last start", true],
	["whose codec has never responded", false],
] as const)
	test(`a device ${name} accepts each further update`, async (t) => {
		const fleet = await runFleet(t);
		const program = await buildFirmware();
		const { device, deviceId, report } = await fleet.powerOn("DEV-1", { version: "1.0.0", clock: "virtual" });
		const restart = async () => {
			await device.powerCycle();
			await fleet.monitorClient.change("connected");
			await report();
		};
		await report();
		if (answeredBefore) await pass(device, 10_000);
		assert.equal(device.setting("codec"), answeredBefore ? "1" : undefined);
		device.board.codec.isAnswering = false;
		await restart();

		for (const version of ["2.0.0", "3.0.0"]) {
			await fleet.release(version, makeVirtualImage(program.bytes, "DEV-1", version));
			await fleet.monitorClient.request({ type: "trigger_ota", targetId: deviceId });
			const { otaStatus } = await passUntil(device, fleet.updateResult(deviceId));
			assert.equal(otaStatus, "updated");
			// Unconfirmed firmware is rolled back after 120 s.
			await pass(device, 130_000);
			assert.equal(device.isPendingVerify, false);
			assert.equal(device.started.version, version);
			assert.equal(device.setting("codec"), "0");
		}

		device.board.codec.isAnswering = true;
		await restart();
		await pass(device, 10_000);
		assert.equal(device.setting("codec"), "1", "a working codec is required again");
	});

test("a device whose codec fails at run time accepts the next update", async (t) => {
	const fleet = await runFleet(t);
	const program = await buildFirmware();
	const { device, deviceId, report } = await fleet.powerOn("DEV-1", { version: "1.0.0", clock: "virtual" });
	await report();
	await pass(device, 10_000);
	device.board.codec.isAnswering = false;
	await fleet.release("2.0.0", makeVirtualImage(program.bytes, "DEV-1", "2.0.0"));
	await fleet.monitorClient.request({ type: "trigger_ota", targetId: deviceId });
	await passUntil(device, fleet.updateResult(deviceId));
	await pass(device, 130_000);
	assert.equal(device.started.version, "2.0.0");
	assert.equal(device.isPendingVerify, false);
});

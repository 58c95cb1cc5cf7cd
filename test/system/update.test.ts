import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { models } from "../../device/protocol/schema.js";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/cable.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { runFleet } from "./fleet.js";

const updatesInARow = 20;

for (const model of models)
	test(`a ${model} in XS is updated through /monitor and runs the new version`, async (t) => {
		const fleet = await runFleet(t);
		const program = await buildFirmware();
		await fleet.release("1.1.0", makeVirtualImage(program.bytes, model, "1.1.0"));
		const { device, deviceId, report } = await fleet.powerOn(model, { version: "1.0.0" });
		assert.equal((await report()).system.firmware_version, "1.0.0");
		const answer = await fleet.monitorClient.ask({ type: "trigger_ota", targetId: deviceId });
		assert.equal(answer.type, "ack", JSON.stringify(answer));
		const after = await report((state) => state.system.firmware_version === "1.1.0");
		assert.equal(after.health.reset_reason, "SW_RESET");
		const updated = await fleet.updateEnd(deviceId);
		assert.equal(updated.otaStatus, "updated", JSON.stringify(updated));
		assert.equal(device.started.slot, 1);
	});

test(`${updatesInARow} updates in a row end each with the next version, in the other slot, confirmed`, async (t) => {
	const fleet = await runFleet(t);
	const program = await buildFirmware();
	const versions = Array.from({ length: updatesInARow }, (_, index) => `1.${index + 1}.0`);
	for (const version of versions)
		await fleet.release(version, makeVirtualImage(program.bytes, "DEV-1", version));
	const { device, deviceId, report } = await fleet.powerOn("DEV-1", { version: "1.0.0" });
	await report();
	for (const [index, version] of versions.entries()) {
		await fleet.monitorClient.ask({ type: "trigger_ota", targetId: deviceId, version });
		await report((state) => state.system.firmware_version === version);
		const { otaStatus } = await fleet.updateEnd(deviceId);
		assert.equal(otaStatus, "updated");
		assert.equal(device.started.slot, (index + 1) % 2);
		// It confirms itself once its report has left; the gateway may have seen that before.
		while (device.isPendingVerify) await setImmediate();
	}
});

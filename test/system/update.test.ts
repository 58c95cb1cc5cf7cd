import assert from "node:assert/strict";
import { test } from "node:test";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { runFleet } from "../support/fleet.js";
import { runs } from "../support/property-runs.js";
import { passUntil, passUntilTrue } from "../support/virtual-time.js";

const updatesInARow = runs(20) < 20 ? 4 : 20;

test(`installs ${updatesInARow} updates in a row, each into the other slot and confirmed`, async (t) => {
	// In virtual time it returns 20 times in a few seconds.
	const fleet = await runFleet(t, undefined, { limits: { reconnectsInTenSeconds: 100 } });
	const program = await buildFirmware();
	const versions = Array.from({ length: updatesInARow }, (_, index) => `1.${index + 1}.0`);
	for (const version of versions)
		await fleet.release(version, makeVirtualImage(program.bytes, "DEV-1", version));
	const { device, deviceId, report } = await fleet.powerOn("DEV-1", { version: "1.0.0", clock: "virtual" });
	await report();
	for (const [index, version] of versions.entries()) {
		await fleet.monitorClient.request({ type: "trigger_ota", targetId: deviceId, version });
		const updated = report((state) => state.system.firmware_version === version);
		const { health } = await passUntil(device, updated);
		assert.equal(health.reset_reason, "SW_RESET");
		const { otaStatus } = await fleet.updateResult(deviceId);
		assert.equal(otaStatus, "updated");
		assert.equal(device.started.slot, (index + 1) % 2);
		// It is confirmed once its report has left; the gateway may have received that before.
		await passUntilTrue(device, 20, () => !device.isPendingVerify);
	}
});

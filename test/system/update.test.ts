import assert from "node:assert/strict";
import { test } from "node:test";
import { models } from "../../device/protocol/schema.js";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { slots } from "../../hosts/virtual/node/boot/partitions.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { waitUntil } from "../support/eventually.js";
import { runFleet } from "../support/fleet.js";
import { withoutHash } from "../support/images.js";
import { runs } from "../support/property-runs.js";
import { Random } from "../support/random.js";
import { bearer, monitorToken } from "../support/running.js";
import { filePart, form, formHeaders } from "../support/serving.js";
import { pass, passUntil } from "../support/virtual-time.js";

const updatesInARow = runs(20) < 20 ? 4 : 20;

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

test("a device in XS installs uploads and releases with other data after the image", async (t) => {
	const fleet = await runFleet(t);
	const program = await buildFirmware();
	const { device, deviceId, report } = await fleet.powerOn("DEV-1", { version: "1.0.0" });
	await report();
	const random = new Random(11);
	const following = () =>
		Buffer.from(Array.from({ length: random.between(1, 5000) }, () => random.between(0, 255)));
	const image = (version: string) => makeVirtualImage(program.bytes, "DEV-1", version);
	const files: readonly (readonly [version: string, image: Buffer, data: Buffer])[] = [
		["1.1.0", image("1.1.0"), following()],
		["1.2.0", withoutHash(image("1.2.0")), following()],
		["1.3.0", image("1.3.0"), image("1.3.0").subarray(-32)],
		["1.4.0", image("1.4.0"), image("1.3.0").subarray(0, 4096)],
	];
	for (const [index, [version, bytes, data]] of files.entries()) {
		const file = Buffer.concat([bytes, data]);
		const isUpload = index < 2;
		if (isUpload) {
			const body = form(filePart(file));
			const headers = { ...formHeaders, ...bearer(monitorToken) };
			const answer = await fetch(`${fleet.url}/ota/upload`, { method: "POST", body, headers });
			assert.equal(answer.status, 201, await answer.text());
		} else await fleet.release(version, file);
		const asked = { targetId: deviceId, version: isUpload ? "custom" : version };
		await fleet.monitorClient.ask({ type: "trigger_ota", ...asked });
		await report((state) => state.system.firmware_version === version);
		assert.equal((await fleet.updateEnd(deviceId)).otaStatus, "updated");
		const { offset } = slots[device.started.slot];
		assert.deepEqual(device.flash.read(offset, file.length), file, "what follows is in flash too");
		await waitUntil(() => !device.isPendingVerify);
	}
});

test(`${updatesInARow} updates in a row end each with the next version, in the other slot, confirmed`, async (t) => {
	// In the clock of this test it returns 20 times in a few seconds.
	const fleet = await runFleet(t, undefined, { limits: { returnsInTenSeconds: 100 } });
	const program = await buildFirmware();
	const versions = Array.from({ length: updatesInARow }, (_, index) => `1.${index + 1}.0`);
	for (const version of versions)
		await fleet.release(version, makeVirtualImage(program.bytes, "DEV-1", version));
	const { device, deviceId, report } = await fleet.powerOn("DEV-1", { version: "1.0.0", clock: "virtual" });
	await report();
	for (const [index, version] of versions.entries()) {
		await fleet.monitorClient.ask({ type: "trigger_ota", targetId: deviceId, version });
		await passUntil(
			device,
			report((state) => state.system.firmware_version === version),
		);
		const { otaStatus } = await fleet.updateEnd(deviceId);
		assert.equal(otaStatus, "updated");
		assert.equal(device.started.slot, (index + 1) % 2);
		// It confirms itself once its report has left; the gateway may have seen that before.
		await waitUntil(
			() => !device.isPendingVerify,
			() => pass(device, 20),
		);
	}
});

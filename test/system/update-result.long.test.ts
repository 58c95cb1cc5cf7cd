/**
 * Updates with an unexpected end, with the whole firmware on a virtual device: the gateway reports the actual result.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createFirmwareService } from "../../gateway/firmware/service.js";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { Flash } from "../../hosts/virtual/node/boot/flash.js";
import { flashBytes, partitions } from "../../hosts/virtual/node/boot/partitions.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { type Fleet, runFleet } from "../support/fleet.js";
import { bearer, monitorToken } from "../support/running.js";
import { passUntil } from "../support/virtual-time.js";

async function upload({ url }: Fleet, image: Uint8Array): Promise<void> {
	const body = new FormData();
	body.set("firmware", new Blob([new Uint8Array(image)]), "firmware.bin");
	const answer = await fetch(`${url}/ota/upload`, { method: "POST", body, headers: bearer(monitorToken) });
	assert.equal(answer.status, 201);
}

test("a power loss between 100 % and ota_complete is no rollback: the new firmware never ran", async (t) => {
	let skipped = 0;
	const fleet = await runFleet(t, undefined, { monotonic: () => performance.now() + skipped });
	const { bytes } = await buildFirmware();
	await fleet.release("2.0.0", makeVirtualImage(bytes, "DEV-1", "2.0.0"));
	let isArmed = false;
	const flash: Flash = new Flash({
		byteLength: flashBytes,
		onOperation: ({ offset }) => {
			// The first operation on otadata selects the slot to start.
			if (!isArmed || offset >= partitions.nvs.offset) return;
			isArmed = false;
			flash.cutAt(0, "before");
		},
	});
	const { device, deviceId, report } = await fleet.powerOn("DEV-1", { version: "1.0.0", flash });
	await report();
	isArmed = true;
	await fleet.monitorClient.request({ type: "trigger_ota", targetId: deviceId });
	// A download of less than a second looks like one that has not begun.
	skipped = 60_000;
	const { otaStatus, otaReason } = await fleet.updateResult(deviceId);
	assert.equal(device.started.version, "1.0.0");
	assert.equal(otaStatus, "failed");
	assert.match(String(otaReason), /restarted \(POWERON_RESET\) after 100 %.+\. It still runs 1\.0\.0\.$/);
});

test("installs no other upload than the ordered one, if that is replaced before the first block", async (t) => {
	let replace = () => {};
	const replaced = new Promise<void>((resolve) => {
		replace = resolve;
	});
	const fleet = await runFleet(t, undefined, {
		createFirmware: (options) => {
			const service = createFirmwareService(options);
			const binaries: typeof service.binaries = (request, response) => {
				if (!request.url?.startsWith("/ota/firmware.bin")) return service.binaries(request, response);
				replaced.then(() => service.binaries(request, response));
				return true;
			};
			return { ...service, binaries };
		},
	});
	const { bytes } = await buildFirmware();
	await upload(fleet, makeVirtualImage(bytes, "DEV-1", "2.0.0"));
	const { device, deviceId, report } = await fleet.powerOn("DEV-1", { version: "1.0.0" });
	await report();
	await fleet.monitorClient.request({ type: "trigger_ota", targetId: deviceId, version: "custom" });
	await upload(fleet, makeVirtualImage(bytes, "DEV-1", "3.0.0"));
	replace();
	const { otaStatus, otaReason } = await fleet.updateResult(deviceId);
	assert.equal(otaStatus, "failed");
	assert.match(String(otaReason), /answered 410: .+\. The upload was replaced by 3\.0\.0 after this update/);
	assert.equal(device.started.version, "1.0.0");
});

test("a start_ota rejected during probation does not hide the rollback of the previous update", async (t) => {
	const fleet = await runFleet(t);
	const { bytes } = await buildFirmware({ "board/es8311": "test/hosts/virtual/xs/firmware/dead-codec.ts" });
	await fleet.release("2.0.0", makeVirtualImage(bytes, "DEV-1", "2.0.0"));
	const { device, deviceId, report } = await fleet.powerOn("DEV-1", { version: "1.0.0", clock: "virtual" });
	await report();
	const trigger = () => fleet.monitorClient.request({ type: "trigger_ota", targetId: deviceId });
	await trigger();
	assert.equal((await passUntil(device, fleet.updateResult(deviceId))).otaStatus, "updated");
	await trigger();
	const refused = await passUntil(device, fleet.updateResult(deviceId));
	assert.match(String(refused.otaReason), /^The device rejected the update \(busy\)/);
	const { otaStatus, otaReason } = await passUntil(device, fleet.updateResult(deviceId));
	assert.equal(otaStatus, "rolled_back");
	assert.match(String(otaReason), /^The device reverted to 1\.0\.0/);
});

test("a rollback to another image of the same version is no update", async (t) => {
	const fleet = await runFleet(t);
	const { bytes } = await buildFirmware({ "board/es8311": "test/hosts/virtual/xs/firmware/dead-codec.ts" });
	const image = makeVirtualImage(bytes, "DEV-1", "1.0.0");
	await upload(fleet, image);
	const { device, deviceId, report } = await fleet.powerOn("DEV-1", { version: "1.0.0", clock: "virtual" });
	const { system } = await report();
	assert.match(String(system.image), /^[0-9a-f]{16}$/);
	assert.notEqual(system.image, image.toString("hex", 0xb0, 0xb8));
	await fleet.monitorClient.request({ type: "trigger_ota", targetId: deviceId, version: "custom" });
	const results = [await passUntil(device, fleet.updateResult(deviceId))];
	if (results[0]?.otaStatus === "updated")
		results.push(await passUntil(device, fleet.updateResult(deviceId)));
	assert.equal(results.at(-1)?.otaStatus, "rolled_back");
});

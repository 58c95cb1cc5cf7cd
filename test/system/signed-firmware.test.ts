/** Signed firmware on virtual devices: rejection of unsigned images, and replacement of keys over the air. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { before, type TestContext, test } from "node:test";
import { isRecord } from "../../device/protocol/schema.js";
import { type BuiltIn, makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import type { Program } from "../../hosts/virtual/node/build.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { addRelease } from "../../scripts/release/folder.js";
import { waitUntil } from "../support/eventually.js";
import { type Fleet, type FleetDevice, runFleet } from "../support/fleet.js";
import { listen } from "../support/ports.js";
import { makeReleaseKey, type ReleaseKey } from "../support/signing.js";
import { pass, passUntil } from "../support/virtual-time.js";

let program: Program;

before(async () => {
	program = await buildFirmware();
});

function image(version: string, builtIn: BuiltIn): Buffer {
	return makeVirtualImage(program.bytes, "DEV-1", version, 0, builtIn);
}

/** Serves it under any path. @returns its address */
async function serve(t: TestContext, file: Buffer): Promise<string> {
	const server = createServer((_request, response) => {
		response.writeHead(200, { "Content-Length": file.length }).end(file);
	});
	return `http://127.0.0.1:${await listen(t, server)}/firmware.bin`;
}

/** Forwards the command as a compromised gateway could. @returns the reason of its `ota_error` */
async function startOta(
	{ monitorClient }: Fleet,
	{ control, deviceId }: FleetDevice,
	url: string,
	signature: string | undefined,
): Promise<string> {
	const { type } = await control({
		command: "start_ota",
		url,
		...(signature !== undefined && { signature }),
	});
	assert.equal(type, "ack");
	const { message } = await monitorClient.until(
		(frame) => frame.deviceId === deviceId && isRecord(frame.message) && frame.message.type === "ota_error",
	);
	return isRecord(message) ? String(message.reason) : "";
}

interface Made extends BuiltIn {
	readonly by?: ReleaseKey;
}

async function release({ releasesDir }: Fleet, version: string, { by, ...builtIn }: Made): Promise<void> {
	const images = [image(version, builtIn)];
	await addRelease(releasesDir, {
		version,
		date: "2026-01-02",
		notes: "",
		images,
		...(by && { sign: by.sign }),
	});
}

/** Updates over the air. @returns the result, or the reason why the gateway rejected it */
async function trigger(fleet: Fleet, { deviceId }: FleetDevice, version: string) {
	const { monitorClient } = fleet;
	const answer = await monitorClient.request({ type: "trigger_ota", targetId: deviceId, version });
	if (answer.type === "error") return { otaStatus: answer.code, reason: String(answer.message) };
	const { otaStatus, otaReason } = await fleet.updateResult(deviceId);
	return { otaStatus, reason: otaReason ?? "" };
}

test("replaces keys over the air: old, both, new; then rejects the old key", async (t) => {
	const [oldKey, newKey] = [makeReleaseKey(), makeReleaseKey()];
	const fleet = await runFleet(t, undefined, { releaseKeys: [oldKey.publicKey, newKey.publicKey] });
	const device = await fleet.powerOn("DEV-1", {
		version: "1.0.0",
		builtIn: { releaseKeys: oldKey.text },
		clock: "virtual",
	});
	await device.report();
	const update = async (version: string, made: Made) => {
		await release(fleet, version, made);
		const ended = await passUntil(device.device, trigger(fleet, device, version));
		if (ended.otaStatus === "updated") {
			const isNew = device.report(({ system }) => system.firmware_version === version);
			await passUntil(device.device, isNew);
			// Confirmed: the next update may begin.
			await waitUntil(
				() => !device.device.isPendingVerify,
				() => pass(device.device, 20),
			);
		}
		return ended;
	};
	const updated = { otaStatus: "updated", reason: "" };
	const both = `${oldKey.text},${newKey.text}`;
	assert.match(
		(await update("2.0.0", { by: newKey, releaseKeys: newKey.text })).reason,
		/signature is invalid/,
	);
	assert.deepEqual(await update("2.1.0", { by: oldKey, releaseKeys: both }), updated);
	assert.deepEqual(await update("3.0.0", { by: newKey, releaseKeys: newKey.text }), updated);
	assert.match(
		(await update("4.0.0", { by: oldKey, releaseKeys: oldKey.text })).reason,
		/signature is invalid/,
	);
	assert.deepEqual(await update("5.0.0", { by: newKey, releaseKeys: newKey.text }), updated);
});

test("is not offered a lower security version, and rejects it anyway", async (t) => {
	const fleet = await runFleet(t);
	const device = await fleet.powerOn("DEV-1", {
		version: "2.0.0",
		builtIn: { securityVersion: 2 },
		clock: "virtual",
	});
	const { system } = await device.report();
	assert.equal(system.security_version, 2);
	await release(fleet, "2.1.0", { securityVersion: 1 });
	const { otaStatus, reason } = await trigger(fleet, device, "2.1.0");
	assert.equal(otaStatus, "incompatible_firmware");
	assert.match(reason, /Release 2\.1\.0 has security version 1, but the device requires at least 2/);
	const url = await serve(t, image("2.1.0", { securityVersion: 1 }));
	const rejection = await passUntil(device.device, startOta(fleet, device, url, undefined));
	assert.match(rejection, /security version 1; this device runs 2/);
	await release(fleet, "2.2.0", { securityVersion: 3 });
	const updated = { otaStatus: "updated", reason: "" };
	assert.deepEqual(await passUntil(device.device, trigger(fleet, device, "2.2.0")), updated);
	const { system: after } = await passUntil(
		device.device,
		device.report(({ system }) => system.firmware_version === "2.2.0"),
	);
	assert.equal(after.security_version, 3);
});

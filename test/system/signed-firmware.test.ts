/** Replacement of release keys over the air. */

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { type BuiltIn, makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import type { Program } from "../../hosts/virtual/node/build.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { addRelease } from "../../scripts/release/folder.js";
import { type Fleet, type FleetDevice, runFleet } from "../support/fleet.js";
import { makeReleaseKey, type ReleaseKey } from "../support/signing.js";
import { passUntil, passUntilTrue } from "../support/virtual-time.js";

let program: Program;

before(async () => {
	program = await buildFirmware();
});

/** Security version of all firmware here. */
const securityVersion = 2;

interface Made extends BuiltIn {
	readonly by?: ReleaseKey;
}

async function release({ releasesDir }: Fleet, version: string, { by, ...builtIn }: Made): Promise<void> {
	const images = [makeVirtualImage(program.bytes, "DEV-1", version, 0, { ...builtIn, securityVersion })];
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
		builtIn: { releaseKeys: oldKey.text, securityVersion },
		clock: "virtual",
	});
	assert.equal((await device.report()).system.security_version, securityVersion);
	const update = async (version: string, made: Made) => {
		await release(fleet, version, made);
		const ended = await passUntil(device.device, trigger(fleet, device, version));
		if (ended.otaStatus === "updated") {
			const isNew = device.report(({ system }) => system.firmware_version === version);
			await passUntil(device.device, isNew);
			// Confirmed: the next update may begin.
			await passUntilTrue(device.device, 20, () => !device.device.isPendingVerify);
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

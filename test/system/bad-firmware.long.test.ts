import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { resetText } from "../../gateway/api/statuses.js";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import type { Started } from "../../hosts/virtual/node/virtual-device.js";
import { runFleet } from "../support/fleet.js";
import { pass, passUntil } from "../support/virtual-time.js";

const faulty = "test/hosts/virtual/xs/firmware";

describe("new firmware", () => {
	for (const [name, replacements, resetReason] of [
		["that crashes at its start", { main: `${faulty}/crashing.ts` }, "SW_RESET"],
		["that crashes a second later", { main: `${faulty}/late-crash.ts` }, "SW_RESET"],
		["that hangs", { main: `${faulty}/hanging.ts` }, "TASK_WDT_RESET"],
		["that never connects", { "network/link": `${faulty}/unconnected-link.ts` }, "SW_RESET"],
		["whose codec is dead", { "board/es8311": `${faulty}/dead-codec.ts` }, "SW_RESET"],
	] as const)
		test(`${name} is rolled back, and the gateway reports the reason`, async (t) => {
			const fleet = await runFleet(t);
			const { bytes } = await buildFirmware(replacements);
			await fleet.release("2.0.0", makeVirtualImage(bytes, "DEV-1", "2.0.0"));
			const starts: Started[] = [];
			const { device, deviceId, report } = await fleet.powerOn("DEV-1", {
				version: "1.0.0",
				clock: "virtual",
				watchdogMs: 500,
				onBoot: (started) => starts.push(started),
			});
			await report();
			await fleet.monitorClient.request({ type: "trigger_ota", targetId: deviceId });
			let standing = await passUntil(device, fleet.updateResult(deviceId));
			// It connects and reports, and fails its self-test afterwards.
			if (standing.otaStatus === "updated") standing = await passUntil(device, fleet.updateResult(deviceId));
			const { otaStatus, otaReason } = standing;
			assert.equal(otaStatus, "rolled_back");
			const reason = `reverted to 1.0.0; the new firmware ended: ${resetText(resetReason)}.`;
			assert.ok(otaReason?.includes(reason), `${otaReason}`);
			const boots = starts.map(({ version, slot, resetReason: why }) => `${version} ${slot} ${why}`);
			assert.deepEqual(boots, ["1.0.0 0 POWERON_RESET", "2.0.0 1 SW_RESET", `1.0.0 0 ${resetReason}`]);

			const good = await buildFirmware();
			await fleet.release("2.0.1", makeVirtualImage(good.bytes, "DEV-1", "2.0.1"));
			await fleet.monitorClient.request({ type: "trigger_ota", targetId: deviceId });
			const next = await passUntil(device, fleet.updateResult(deviceId));
			assert.equal(next.otaStatus, "updated", "the next update succeeds");
		});
});

test("a rollback to another image of the same version is no update", async (t) => {
	const fleet = await runFleet(t);
	const { bytes } = await buildFirmware({ "board/es8311": `${faulty}/dead-codec.ts` });
	const image = makeVirtualImage(bytes, "DEV-1", "1.0.0");
	await fleet.upload(image);
	const { device, deviceId, report } = await fleet.powerOn("DEV-1", { version: "1.0.0", clock: "virtual" });
	const { system } = await report();
	assert.match(String(system.image), /^[0-9a-f]{16}$/);
	assert.notEqual(system.image, image.toString("hex", 0xb0, 0xb8));
	await fleet.monitorClient.request({ type: "trigger_ota", targetId: deviceId, version: "custom" });
	let { otaStatus } = await passUntil(device, fleet.updateResult(deviceId));
	if (otaStatus === "updated") ({ otaStatus } = await passUntil(device, fleet.updateResult(deviceId)));
	assert.equal(otaStatus, "rolled_back");
});

test("a device whose codec has failed since its last start accepts updates, and requires it again once it works", async (t) => {
	const fleet = await runFleet(t);
	const { bytes } = await buildFirmware();
	await fleet.release("2.0.0", makeVirtualImage(bytes, "DEV-1", "2.0.0"));
	const { device, deviceId, report } = await fleet.powerOn("DEV-1", { version: "1.0.0", clock: "virtual" });
	const restart = async (isAnswering: boolean) => {
		device.board.codec.isAnswering = isAnswering;
		await device.powerCycle();
		await fleet.monitorClient.change("connected");
		await report();
	};
	await report();
	await pass(device, 10_000);
	assert.equal(device.setting("codec"), "1");
	await restart(false);
	await fleet.monitorClient.request({ type: "trigger_ota", targetId: deviceId });
	await passUntil(device, fleet.updateResult(deviceId));
	// Unconfirmed firmware is rolled back after 120 s.
	await pass(device, 130_000);
	const { isPendingVerify, started } = device;
	const codec = device.setting("codec");
	assert.deepEqual([isPendingVerify, started.version, codec], [false, "2.0.0", "0"]);
	await restart(true);
	await pass(device, 10_000);
	assert.equal(device.setting("codec"), "1");
});

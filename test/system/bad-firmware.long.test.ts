import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { resetText } from "../../gateway/api/statuses.js";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import type { Started } from "../../hosts/virtual/node/virtual-device.js";
import { runFleet } from "../support/fleet.js";
import { passUntil } from "../support/virtual-time.js";

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
			assert.deepEqual(
				starts.map(({ version, slot, resetReason: why }) => `${version} ${slot} ${why}`),
				["1.0.0 0 POWERON_RESET", "2.0.0 1 SW_RESET", `1.0.0 0 ${resetReason}`],
			);

			const good = await buildFirmware();
			await fleet.release("2.0.1", makeVirtualImage(good.bytes, "DEV-1", "2.0.1"));
			await fleet.monitorClient.request({ type: "trigger_ota", targetId: deviceId });
			const next = await passUntil(device, fleet.updateResult(deviceId));
			assert.equal(next.otaStatus, "updated", "the next update succeeds");
		});
});

test("a confirmed firmware that crashes ends the virtual device, where a board would keep restarting", async (t) => {
	const fleet = await runFleet(t);
	await assert.rejects(
		fleet.powerOn("DEV-1", {
			program: await buildFirmware({ main: `${faulty}/crashing.ts` }),
			onExit: () => {},
		}),
		/crashes at its start/,
	);
});

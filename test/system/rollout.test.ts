import assert from "node:assert/strict";
import { test } from "node:test";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { call } from "../support/call.js";
import { eventually } from "../support/eventually.js";
import { runFleet } from "../support/fleet.js";
import { getRollout } from "../support/released-fleet.js";
import { passUntil } from "../support/virtual-time.js";

interface Step {
	readonly status: string;
	readonly attempts: number;
	readonly reason: string | null;
}

test("an image with a mute codec stops at the canary", async (t) => {
	const fleet = await runFleet(t);
	const { bytes } = await buildFirmware({
		"board/es8311": "test/hosts/virtual/xs/firmware/dead-codec.ts",
	});
	await fleet.release("2.0.0", makeVirtualImage(bytes, "DEV-1", "2.0.0"));
	const canary = await fleet.powerOn("DEV-1", { version: "1.0.0", clock: "virtual", serial: "000001" });
	await canary.report();
	const other = await fleet.powerOn("DEV-1", { version: "1.0.0", serial: "000002" });
	await other.report();
	await call(fleet.url, "PUT", "rollouts/mute", {
		firmware: { version: "2.0.0" },
		target: { devices: [canary.deviceId, other.deviceId] },
		groups: [{ size: 1 }, { size: "rest" }],
	});
	const { pausedBecause, counts } = await passUntil(
		canary.device,
		eventually(
			() => getRollout(fleet.url, "mute"),
			({ status }) => status === "paused",
		),
	);
	assert.equal(pausedBecause, "failures");
	assert.deepEqual([counts.rolled_back, counts.queued], [1, 1]);
	const { devices } = await call<{ devices: readonly Step[] }>(fleet.url, "GET", "rollouts/mute/devices");
	assert.deepEqual(
		devices.map(({ status, attempts }) => [status, attempts]),
		[
			["rolled_back", 1],
			["queued", 0],
		],
	);
	assert.match(devices[0]?.reason ?? "", /reverted to 1\.0\.0/);
});

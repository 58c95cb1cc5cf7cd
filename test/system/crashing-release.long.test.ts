/** Rollouts of firmware that crashes during the soak time. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { runGateways } from "../gateway/cluster/gateways.js";
import { memoryBuses } from "../gateway/cluster/memory-buses.js";
import { call } from "../support/call.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { eventually } from "../support/eventually.js";
import { type FleetDevice, runFleet } from "../support/fleet.js";
import { getRollout, putRollout, reportCrash } from "../support/released-fleet.js";
import { writeReleases } from "../support/releases.js";

const planOf = (version: string) => ({
	firmware: { version },
	target: { model: "DEV-1" as const },
	groups: [
		{ size: 2, soakSeconds: 3600, errorThreshold: { count: 2 } },
		{ size: "rest", soakSeconds: 0 },
	],
});
const until = (url: string, isReached: (rollout: Awaited<ReturnType<typeof getRollout>>) => boolean) =>
	eventually(() => getRollout(url, "autumn"), isReached);

test("a release that crashes in XS pauses its rollout after the first group", async (t) => {
	const fleet = await runFleet(t);
	const program = await buildFirmware({ rules: "test/hosts/virtual/xs/firmware/crashing-rules.ts" });
	await fleet.release("2.0.0", makeVirtualImage(program.bytes, "DEV-1", "2.0.0"));
	const devices: FleetDevice[] = [];
	for (const serial of ["000001", "000002", "000003"]) {
		const device = await fleet.powerOn("DEV-1", {
			program,
			version: "1.0.0",
			serial,
			restartsAfterCrash: true,
		});
		await device.report();
		devices.push(device);
	}
	await putRollout(fleet.url, "autumn", planOf("2.0.0"));
	await until(fleet.url, ({ counts }) => counts.soaking === 2);
	const soaking = devices.filter(({ device }) => device.started.version === "2.0.0");
	assert.equal(soaking.length, 2);
	for (const { device } of soaking) device.board.setButton("play", true);
	const { pausedBecause } = await until(fleet.url, ({ status }) => status === "paused");
	assert.equal(pausedBecause, "failures");
	const { devices: steps } = await call<{ devices: readonly { status: string; reason: string | null }[] }>(
		fleet.url,
		"GET",
		"rollouts/autumn/devices",
	);
	assert.deepEqual(steps.map(({ status, reason }) => [status, reason]).sort(), [
		["failed", "The new firmware crashed (exception)."],
		["failed", "The new firmware crashed (exception)."],
		["queued", null],
	]);
});

test("crashes at two gateways fail devices of their shared rollout", async (t) => {
	const releasesDir = join(await temporaryDirectory(t), "releases");
	await writeReleases(releasesDir, [{ version: "1.4.0", model: "DEV-1", chip: "esp32s3" }]);
	const gateways = await runGateways(t, await memoryBuses(), 2, { releasesDir });
	const [a, b] = gateways;
	const devices = [await a.join("dev-1-00000a"), await b.join("dev-1-00000b"), await b.join("dev-1-00000c")];
	t.after(() => {
		for (const device of devices) device.close();
	});
	const urls = gateways.map(({ url }) => url);
	const [first] = devices;
	assert.ok(first, "no device");
	// Before its update: unrelated to the release.
	await reportCrash(first, "1.2.3", 1, ...urls);
	await putRollout(a.url, "autumn", planOf("1.4.0"));
	for (const url of urls) await until(url, ({ counts }) => counts.soaking === 2);
	const updated = devices.filter(({ commands }) => commands.length > 0);
	for (const [index, device] of updated.entries()) await reportCrash(device, "1.4.0", index + 1, ...urls);
	for (const url of urls) {
		const { counts } = await until(url, ({ pausedBecause }) => pausedBecause === "failures");
		assert.deepEqual([counts.failed, counts.queued], [2, 1]);
	}
});

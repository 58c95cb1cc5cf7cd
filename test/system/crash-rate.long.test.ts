/** Roll-outs to firmware that crashes in XS more often than what the devices ran before, or as often. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { runGateways } from "../gateway/cluster/gateways.js";
import { memoryBuses } from "../gateway/cluster/memory-buses.js";
import { crashes } from "../gateway/fleet/crashed.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { runCommand } from "../support/command-line.js";
import { eventually } from "../support/eventually.js";
import { type FleetDevice, runFleet } from "../support/fleet.js";
import { actOn, crash, putRollout, readRollout } from "../support/released-fleet.js";
import { writeReleases } from "../support/releases.js";
import { monitorToken } from "../support/running.js";

const hourMs = 3_600_000;
const planOf = (version: string, size = 2) => ({
	firmware: { version },
	target: { model: "DEV-1" as const },
	groups: [
		{ size, soakSeconds: 0 },
		{ size: "rest", approval: true, soakSeconds: 0 },
	],
	stopWhen: { crashRate: 3 },
});
const until = (url: string, id: string, status: string) =>
	eventually(
		() => readRollout(url, id),
		(rollout) => rollout.status === status,
	);

test("a version that crashes on devices stops its roll-out; one that crashes as before does not", async (t) => {
	let skewMs = 0;
	const fleet = await runFleet(t, undefined, { monotonic: () => performance.now() + skewMs });
	const program = await buildFirmware({ rules: "test/hosts/virtual/xs/firmware/crashing-rules.ts" });
	for (const version of ["2.0.0", "3.0.0"])
		await fleet.release(version, makeVirtualImage(program.bytes, "DEV-1", version));
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
	const [first] = devices;
	assert.ok(first, "no device");
	const crashesOf = async (version: string) => {
		const { versions } = await crashes(fleet);
		return versions.find((each) => each.version === version)?.count ?? 0;
	};
	/** Resolves once the gateway has counted its crash. */
	const press = async ({ device }: FleetDevice, version: string) => {
		const before = await crashesOf(version);
		device.board.setButton("play", true);
		await eventually(
			() => crashesOf(version),
			(count) => count > before,
		);
		device.board.setButton("play", false);
	};
	const running = (version: string) => devices.filter(({ device }) => device.started.version === version);
	skewMs += 100 * hourMs;
	await press(first, "1.0.0");
	await putRollout(fleet.url, "worse", planOf("2.0.0"));
	assert.equal((await until(fleet.url, "worse", "paused")).pausedBecause, "approval");
	assert.equal(running("2.0.0").length, 2);
	for (const device of running("2.0.0")) await press(device, "2.0.0");
	await actOn(fleet.url, "worse", "approve");
	assert.equal((await until(fleet.url, "worse", "paused")).pausedBecause, "crashes");
	assert.equal(running("1.0.0").length, 1);
	await actOn(fleet.url, "worse", "resume");
	assert.equal((await until(fleet.url, "worse", "finished")).counts.succeeded, 3);

	// Of 2.0.0 and of 3.0.0, a crash in 100 hours of a device.
	skewMs += 100 * hourMs;
	await press(first, "2.0.0");
	await putRollout(fleet.url, "as-before", planOf("3.0.0"));
	assert.equal((await until(fleet.url, "as-before", "paused")).pausedBecause, "approval");
	skewMs += 100 * hourMs;
	for (const device of running("3.0.0")) await press(device, "3.0.0");
	await actOn(fleet.url, "as-before", "approve");
	assert.equal((await until(fleet.url, "as-before", "finished")).counts.succeeded, 3);
	assert.equal(running("3.0.0").length, 3);
});

test("crashes at two gateways are one count, which stops a roll-out that both have", async (t) => {
	let skewMs = 0;
	const releasesDir = join(await temporaryDirectory(t), "releases");
	await writeReleases(releasesDir, [{ version: "1.4.0", model: "DEV-1", chip: "esp32s3" }]);
	const monotonic = () => performance.now() + skewMs;
	const gateways = await runGateways(t, await memoryBuses(), 2, { releasesDir, monotonic });
	const [a, b] = gateways;
	const devices = [
		await a.join("dev-1-00000a"),
		await a.join("dev-1-00000b"),
		await b.join("dev-1-00000c"),
		await b.join("dev-1-00000d"),
	];
	t.after(() => {
		for (const device of devices) device.close();
	});
	const urls = gateways.map(({ url }) => url);
	skewMs += 100 * hourMs;
	const [first, , third] = devices;
	assert.ok(first && third, `only ${devices.length} devices`);
	await crash(first, "1.2.3", 1, ...urls);
	await crash(third, "1.2.3", 2, ...urls);
	await putRollout(a.url, "worse", planOf("1.4.0", 3));
	for (const url of urls) assert.equal((await until(url, "worse", "paused")).pausedBecause, "approval");
	const updated = devices.filter(({ commands }) => commands.length > 0);
	assert.equal(updated.length, 3);
	for (const [index, device] of updated.entries()) await crash(device, "1.4.0", index + 1, ...urls);
	await actOn(b.url, "worse", "approve");
	const isStopped = ({ pausedBecause }: { readonly pausedBecause: string | null }) =>
		pausedBecause === "crashes";
	for (const url of urls) await eventually(() => readRollout(url, "worse"), isStopped);
	assert.equal(devices.filter(({ commands }) => commands.length > 0).length, 3);
	const options = ["--watch", "worse", "--gateway", a.url];
	const watch = runCommand(t, "scripts/rollout.ts", options, { MONITOR_TOKEN: monitorToken });
	assert.equal(await watch.exitCode, 1);
	assert.match(
		watch.output(),
		/^Stopped by crashes, group 2 of 2 .*\n1\.4\.0 crashes too often, .* --resume worse\n$/,
	);
	await actOn(b.url, "worse", "resume");
	for (const url of urls) assert.equal((await until(url, "worse", "finished")).counts.succeeded, 4);
});

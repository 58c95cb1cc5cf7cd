/** Fleet whose gateway is killed during a rollout and loses its folder; another one continues from the backup. */

import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { runCommand } from "../support/command-line.js";
import { eventually } from "../support/eventually.js";
import { GatewayProcess } from "../support/gateway-process.js";
import { freePort } from "../support/ports.js";
import { ReconnectingDevice } from "../support/reconnecting-device.js";
import { writeReleases } from "../support/releases.js";
import { deviceToken, monitorToken, temporaryDirectory } from "../support/running.js";

const count = 300;
const patienceMs = 120_000;
interface Rollout {
	readonly status: string;
	readonly counts: Readonly<Record<string, number>>;
}

test("300 devices return without a second update after kill -9, and a rollout continues from the backup", async (t) => {
	const folder = await temporaryDirectory(t);
	const releasesDir = join(folder, "releases");
	await writeReleases(releasesDir, [{ version: "1.4.0", model: "DEV-1", chip: "esp32s3" }]);
	const file = join(folder, "backup.tar.gz");
	const environment = {
		DATA_DIR: join(folder, "data"),
		RELEASES_DIR: releasesDir,
		MONITOR_TOKEN: monitorToken,
	};
	const first = new GatewayProcess(t, await freePort(), { ...environment, DEVICE_TOKEN: deviceToken });
	const { url } = first;
	await first.start();
	const fleet = Array.from({ length: count }, (_, index) => {
		const deviceId = `dev-1-${index.toString(16).padStart(6, "0")}`;
		const reconnectMs = () => 500 + Math.random() * 2_000;
		return new ReconnectingDevice({
			url,
			deviceId,
			reconnectMs,
			updateMs: () => 1_000 + Math.random() * 2_000,
		});
	});
	t.after(() => {
		for (const device of fleet) device.end();
	});
	for (const device of fleet) void device.run();
	const known = async (gateway: GatewayProcess) => {
		const { devices } = await gateway.call<{ devices: { connected: boolean }[] }>("GET", "devices");
		return devices.filter(({ connected }) => connected).length;
	};
	await eventually(
		() => known(first),
		(connected) => connected === count,
		patienceMs,
	);
	const groups = [{ size: "rest", soakSeconds: 0, concurrency: 20 }];
	const plan = { firmware: { version: "1.4.0" }, target: { model: "DEV-1" }, groups };
	await first.call("PUT", "rollouts/autumn", plan);
	const updated = () => fleet.filter(({ version }) => version === "1.4.0");
	await eventually(updated, ({ length }) => length >= 60, patienceMs);

	const offeredBefore = fleet.filter(({ offers }) => offers > 0);
	const backup = runCommand(t, "scripts/backup.ts", [file, "--gateway", url], environment);
	assert.equal(await backup.exitCode, 0, backup.output());
	const updatedThen = updated().length;
	await eventually(updated, ({ length }) => length >= updatedThen + 20, patienceMs);
	await first.kill();
	await rm(environment.DATA_DIR, { recursive: true });
	/**
	 * Devices that receive an image after the backup and have not started it yet: the backup does not contain their
	 * update.
	 */
	const once = fleet.filter((device) => offeredBefore.includes(device) || device.version === "1.4.0");
	assert.ok(once.length < count, "the rollout is not complete");

	const restore = runCommand(t, "scripts/restore.ts", [file], environment);
	assert.equal(await restore.exitCode, 0, restore.output());
	assert.match(restore.output(), /300 devices/);
	// The device token is restored from the backup.
	const second = new GatewayProcess(t, first.port, environment);
	await second.start();
	const { counts } = await eventually(
		() => second.call<Rollout>("GET", "rollouts/autumn"),
		({ status }) => status === "finished",
		patienceMs,
	);
	assert.equal((counts.succeeded ?? 0) + (counts.already_installed ?? 0), count, JSON.stringify(counts));
	assert.ok((counts.already_installed ?? 0) > 0, "some were updated after the backup");
	assert.equal(updated().length, count);
	assert.deepEqual(
		once.filter(({ offers }) => offers !== 1).map(({ deviceId, offers }) => `${deviceId}: ${offers}`),
		[],
	);
	t.diagnostic(`${fleet.filter(({ offers }) => offers > 1).length} of ${count} received two offers`);
});

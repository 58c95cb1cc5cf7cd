import assert from "node:assert/strict";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Rollout } from "../../gateway/api/client/rollout.js";
import { downloadBackup, restoreBackup } from "../support/backups.js";
import { call, clientOf } from "../support/call.js";
import { eventually, waitUntil } from "../support/eventually.js";
import { quickPlan } from "../support/released-fleet.js";
import { writeReleases } from "../support/releases.js";
import {
	bearer,
	deviceToken,
	monitorToken,
	noRateLimits,
	runGateway,
	temporaryDirectory,
} from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";

const limits = { ...noRateLimits.limits, snapshotDebounceMs: 10 };
/**
 * Backup of format 1, which every later release must restore. For a new format, keep the output of `npm run backup`
 * of such a gateway.
 */
const fixture = "test/system/backup-format-1.tar.gz";

/** Starts a gateway with the tokens of its folder. */
function startWith(t: TestContext, dataDir: string, releasesDir: string, port = 0) {
	const ownTokens = { deviceToken: undefined, monitorToken: undefined };
	return runGateway(t, { dataDir, releasesDir, port, limits, ...ownTokens });
}

const startsOf = ({ commands }: ScriptedDevice) =>
	commands.filter(({ command }) => command === "start_ota").length;

test("a gateway restored from a backup during changes continues: devices return, and none is updated twice", async (t) => {
	const folder = await temporaryDirectory(t);
	const [dataDir, restored] = [join(folder, "data"), join(folder, "restored")];
	const [releasesDir, restoredReleases] = [join(folder, "releases"), join(folder, "releases-2")];
	await writeReleases(releasesDir, [{ version: "1.4.0", model: "DEV-1", chip: "esp32s3" }]);
	const first = await runGateway(t, { dataDir, releasesDir, limits });
	const { url } = first;
	const fleet: ScriptedDevice[] = [];
	t.after(() => {
		for (const device of fleet) device.close();
	});
	// Six devices wait in the middle of their update and occupy all slots.
	for (let index = 0; index < 30; index += 1) {
		const deviceId = `dev-1-${String(index).padStart(6, "0")}`;
		const ending = index >= 10 && index < 16 ? "waits" : "updates";
		fleet.push(await new ScriptedDevice({ url, deviceId, ending }).connect());
	}
	const waiting = fleet.slice(10, 16);
	const groups = [{ size: "rest", soakSeconds: 0, concurrency: 6, errorThreshold: { count: 1 } }] as const;
	await call(url, "PUT", "rollouts/autumn", quickPlan({ groups }));
	await Promise.all(waiting.map(({ offered }) => offered));

	/** Latest acknowledged name of each device. */
	const acknowledged = new Map<string, number>();
	let isChanging = true;
	const changing = fleet.slice(0, 5).map(async ({ deviceId }) => {
		for (let count = 1; isChanging; count += 1) {
			await call(url, "PATCH", `devices/${deviceId}`, { name: `name ${count}` });
			acknowledged.set(deviceId, count);
		}
	});
	await waitUntil(() => acknowledged.size === 5);
	const before = new Map(acknowledged);
	const backup = await downloadBackup(url, "?releases=1");
	isChanging = false;
	await Promise.all(changing);
	// Two more groups of the rollout, which the backup does not contain.
	const late = fleet.filter((device) => startsOf(device) === 0).slice(0, 2);
	await Promise.all(waiting.slice(0, 2).map((device) => device.finish("updates")));
	await Promise.all(late.map(({ offered }) => offered));
	const readRollout = () => call<Rollout>(url, "GET", "rollouts/autumn");
	await eventually(readRollout, ({ counts }) => counts.succeeded >= 14);
	// No device may be restarting when the gateway is lost.
	await call(url, "POST", "rollouts/autumn/pause");
	await eventually(
		readRollout,
		({ counts: { offered, downloading, rebooting, soaking } }) =>
			offered + downloading + rebooting + soaking === waiting.length - 2,
	);
	await first.gateway.close();
	await rm(dataDir, { recursive: true });

	const about = await restoreBackup(backup, restored, restoredReleases);
	assert.ok(about.files.length > 40, `only ${about.files.length} files`);
	const second = await startWith(t, restored, restoredReleases, Number(new URL(url).port));
	assert.equal(second.url, url);
	for (const device of fleet) await device.connect();
	await Promise.all(waiting.slice(2).map((device) => device.finish("updates")));
	const { counts } = await eventually(readRollout, ({ status }) => status === "finished");
	// Devices updated after the backup receive no second command.
	assert.equal(counts.succeeded + counts.already_installed, 30, JSON.stringify(counts));
	assert.ok(counts.already_installed >= 2, JSON.stringify(counts));
	const others = fleet.filter((device) => startsOf(device) !== 1).map(({ deviceId }) => deviceId);
	assert.deepEqual(others, [], "each other device received one update command");
	for (const [deviceId, count] of before) {
		const { name } = await call<{ name: string }>(url, "GET", `devices/${deviceId}`);
		assert.ok(Number(name.split(" ")[1]) >= count, `${deviceId}: ${name}, after ${count}`);
	}
});

test("restores the stored backup of format 1, and a gateway continues from it", async (t) => {
	const folder = await temporaryDirectory(t);
	const [dataDir, releasesDir] = [join(folder, "data"), join(folder, "releases")];
	const { format } = await restoreBackup(await readFile(fixture), dataDir, releasesDir);
	assert.equal(format, 1);
	const { url, gateway } = await startWith(t, dataDir, releasesDir);
	assert.deepEqual(gateway.tokens, { device: deviceToken, monitor: monitorToken });
	const { request } = clientOf(url);
	const { devices } = await request("GET /api/devices");
	assert.deepEqual(devices.map(({ deviceId }) => deviceId).sort(), ["dev-1-000000", "dev-1-000001"]);
	const names = devices.map(({ name }) => name);
	assert.ok(names.includes("Speaker"), `names: ${names}`);
	const { crashes } = await call<{ crashes: unknown[] }>(url, "GET", "devices/dev-1-000001");
	assert.equal(crashes.length, 1);
	const { tokens } = await request("GET /api/tokens");
	const tokenNames = tokens.map(({ name }) => name);
	assert.deepEqual(tokenNames, ["monitor", "anna"]);
	const { schedules } = await request("GET /api/schedules");
	const scheduleNames = schedules.map(({ name }) => name);
	assert.deepEqual(scheduleNames, ["Closing"]);
	assert.match(JSON.stringify(await call(url, "GET", "quiet-hours")), /22:00/);
	const { sounds } = await request("GET /api/sounds");
	assert.equal(sounds[0]?.name, "Dinner");
	const sound = await fetch(`${url}/sounds/${sounds[0]?.id}.wav`, { headers: bearer(monitorToken) });
	assert.equal(sound.status, 200);
	const { status } = await call<Rollout>(url, "GET", "rollouts/autumn");
	assert.equal(status, "paused");
	const { changes } = await request("GET /api/audit");
	const changed = changes.map(({ what }) => what);
	assert.ok(changed.includes("PUT /api/rollouts/:id"), `changes: ${changed}`);
});

test("the audit log lists a backup download, but not the check whether one is available", async (t) => {
	const folder = await temporaryDirectory(t);
	const { url } = await runGateway(t, { dataDir: join(folder, "data"), limits });
	const head = await fetch(`${url}/api/backup`, { method: "HEAD", headers: bearer(monitorToken) });
	assert.equal(head.status, 200);
	await downloadBackup(url);
	const readAudit = () => clientOf(url).request("GET /api/audit");
	const { changes } = await eventually(readAudit, ({ changes }) => changes.length > 0);
	const audited = changes.map(({ what }) => what);
	assert.deepEqual(audited, ["GET /api/backup"]);
});

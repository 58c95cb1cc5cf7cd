import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { diskWith, systemError } from "../../support/disk.js";
import { makeImage } from "../../support/images.js";
import { writeReleases } from "../../support/releases.js";
import {
	type Client,
	monitorToken,
	type RunOptions,
	runGateway,
	temporaryDirectory,
} from "../../support/running.js";
import { sampleReport, withField } from "../../support/sample-report.js";
import { checkFrame } from "../api/schemas.js";

const deviceId = "dev-1-a1b2c3";
const smallest = { firmware: { version: "1.4.0" }, target: { model: "DEV-1" } };
const quick = { ...smallest, groups: [{ size: "rest", soakSeconds: 0 }] };

/** Gateway with releases 1.4.0 and 1.1.0 for the DEV-1, and one device on 1.2.3. */
async function run(t: TestContext, options: RunOptions = {}) {
	const dataDir = options.dataDir ?? (await temporaryDirectory(t));
	const releasesDir = join(dataDir, "releases");
	const releaseOf = (version: string) => ({ version, model: "DEV-1", chip: "esp32s3" }) as const;
	await writeReleases(releasesDir, ["1.4.0", "1.1.0"].map(releaseOf));
	const gateway = await runGateway(t, { ...options, dataDir, releasesDir });
	const monitor = await gateway.monitor();
	const { device } = await gateway.namedDevice(monitor);
	const call = (method: string, path: string, body?: object, headers = {}) =>
		gateway.api(method, `/api/rollouts${path}`, body, monitorToken, { headers });
	const watcher = await gateway.subscribe("rollouts");
	watcher.onFrame = checkFrame;
	/** Waits for a rollout_update with this status. */
	const until = async (status: string) =>
		Object(await watcher.until((frame) => Object(frame).status === status));
	return { ...gateway, monitor, first: device, call, watcher, until };
}

/** Performs the update sent to a device. @returns its next connection */
async function update(gateway: Awaited<ReturnType<typeof run>>, device: Client, version = "1.4.0") {
	const { command, url } = JSON.parse(await device.nextText());
	assert.equal(command, "start_ota");
	device.send({ type: "ota_progress", percent: 50, bytes_written: 1, bytes_total: 2 });
	device.send({ type: "ota_complete" });
	device.socket.close();
	await device.closed;
	const next = await gateway.device({ "Device-Id": deviceId });
	next.send(reportOf(version));
	return { next, url };
}

function reportOf(version: string) {
	const report = withField(sampleReport("DEV-1"), "system.firmware_version", version);
	return withField(report, "health.uptime_seconds", 0);
}

describe("PUT /api/rollouts/<id>", () => {
	test("updates the devices of a plan, and notifies subscribed monitors", async (t) => {
		const gateway = await run(t);
		const { status, body, headers } = await gateway.call("PUT", "/autumn", quick);
		assert.equal(status, 201);
		assert.equal(body.status, "running");
		assert.equal(headers.get("etag"), `"${body.revision}"`);
		assert.equal(body.plan.firmware.version, "1.4.0");
		assert.match(body.plan.firmware.images[0].sha256, /^[0-9a-f]{64}$/);
		const { next, url } = await update(gateway, gateway.first);
		assert.match(url, /\/releases\/firmware-v1\.4\.0\.bin\?model=dev-1&chip=esp32s3&sha256=[0-9a-f]{64}$/);
		const frame = await gateway.until("finished");
		const { body: over } = await gateway.call("GET", "/autumn");
		assert.deepEqual(frame.counts, over.counts);
		assert.equal(frame.revision, over.revision);
		assert.equal(over.counts.succeeded, 1);
		assert.equal((await gateway.call("POST", "/autumn/cancel")).status, 409);
		const { body: listed } = await gateway.call("GET", "/autumn/devices?status=succeeded");
		const shown = listed.devices.map(({ at: _at, ...device }: { at: string }) => device);
		assert.deepEqual(shown, [
			{ deviceId, status: "succeeded", attempts: 1, group: 0, reason: null, soakSecondsLeft: null },
		]);
		assert.deepEqual((await gateway.call("GET", "/autumn/devices?status=failed")).body.devices, []);
		next.socket.close();
	});

	test("changes nothing for the same plan, and rejects another", async (t) => {
		const gateway = await run(t);
		const { body } = await gateway.call("PUT", "/autumn", smallest);
		const again = await gateway.call("PUT", "/autumn", smallest);
		assert.deepEqual([again.status, again.body.createdAt], [200, body.createdAt]);
		const completed = await gateway.call("PUT", "/autumn", body.plan);
		assert.equal(completed.status, 200, "as the gateway completed it");
		const other = await gateway.call("PUT", "/autumn", { ...smallest, maxAttempts: 1 });
		assert.equal(other.status, 409);
		const second = await gateway.call("PUT", "/winter", smallest);
		assert.equal(second.status, 409);
		assert.match(second.body.detail, /dev-1-a1b2c3 is in rollout autumn/);
		assert.equal((await gateway.call("GET", "")).body.rollouts.length, 1);
	});
});

describe("running rollout", () => {
	test("is controlled by commands for the displayed revision", async (t) => {
		const { call } = await run(t);
		const { body } = await call("PUT", "/autumn", { ...smallest, startsAt: "2100-01-01T00:00:00Z" });
		assert.equal(body.status, "scheduled");
		const seen = { "If-Match": `"${body.revision}"` };
		const paused = await call("POST", "/autumn/pause", undefined, seen);
		const { status, pausedBecause, revision } = paused.body;
		assert.deepEqual([paused.status, status, pausedBecause], [200, "paused", "operator"]);
		assert.equal((await call("POST", "/autumn/resume", undefined, seen)).status, 412);
		const again = await call("POST", "/autumn/pause");
		assert.deepEqual([again.status, again.body.revision], [200, revision]);
		const now = { "If-Match": paused.headers.get("etag") };
		assert.equal((await call("POST", "/autumn/resume", undefined, now)).body.status, "scheduled");
		assert.equal((await call("DELETE", "/autumn")).status, 409);
		const cancelled = await call("POST", "/autumn/cancel");
		assert.deepEqual([cancelled.body.status, cancelled.body.counts.cancelled], ["cancelled", 1]);
		assert.equal((await call("POST", "/autumn/resume")).status, 409);
		assert.equal((await call("POST", "/autumn/explode")).status, 404);
		for (const expected of [204, 404]) assert.equal((await call("DELETE", "/autumn")).status, expected);
	});

	test("prevents manual updates of a device that it is updating", async (t) => {
		const gateway = await run(t);
		await gateway.call("PUT", "/autumn", smallest);
		assert.equal(JSON.parse(await gateway.first.nextText()).command, "start_ota");
		const answer = await gateway.monitor.request({ type: "trigger_ota", targetId: deviceId });
		assert.equal(answer.code, "ota_in_progress");
		assert.match(String(answer.message), /Rollout autumn/);
	});

	test("is sent to subscribed monitors after their snapshot, and to no other", async (t) => {
		const gateway = await run(t);
		await gateway.call("PUT", "/autumn", smallest);
		await gateway.until("running");
		const late = await gateway.subscribe("rollouts");
		assert.equal((await late.next()).reason, "snapshot");
		const { type, id, status } = JSON.parse(await late.nextText());
		assert.deepEqual([type, id, status], ["rollout_update", "autumn", "running"]);
		await gateway.call("POST", "/autumn/cancel");
		await gateway.until("cancelled");
		gateway.monitor.send({ type: "no" });
		for (let type = ""; type !== "error"; ) {
			type = (await gateway.monitor.next()).type;
			assert.notEqual(type, "rollout_update");
		}
	});

	test("sends only the image of its plan, even after the upload was replaced", async (t) => {
		const gateway = await run(t);
		const upload = async (buildTime: number) => {
			const { status } = await gateway.upload(makeImage({ version: "1.5.0", buildTime }));
			assert.equal(status, 201);
		};
		await upload(1);
		const groups = [{ size: "rest", approval: true }];
		const plan = { firmware: { version: "custom" }, target: { devices: [deviceId] }, groups };
		const { body } = await gateway.call("PUT", "/autumn", plan);
		assert.deepEqual([body.version, body.plan.firmware.source], ["1.5.0", "upload"]);
		await upload(2);
		await gateway.call("POST", "/autumn/approve");
		await gateway.until("finished");
		gateway.first.socket.on("message", () => assert.fail("sent an update"));
		const [device] = (await gateway.call("GET", "/autumn/devices")).body.devices;
		assert.equal(device.status, "rejected");
		assert.match(device.reason, /replaced/);
	});
});

test("rejects what cannot be stored, and changes nothing", async (t) => {
	let isBroken = false;
	const disk = diskWith((operation, path) => {
		if (isBroken && /create|rm/.test(operation) && path.includes("rollouts")) throw systemError("ENOSPC");
	});
	const { call, url } = await run(t, { disk });
	const ready = async () => (await fetch(`${url}/readyz`)).text();
	const later = { ...quick, startsAt: "2100-01-01T00:00:00Z" };
	for (const [method, path, status] of [
		["PUT", "/autumn", undefined],
		["POST", "/autumn/pause", "scheduled"],
		["POST", "/autumn/cancel", "scheduled"],
		["DELETE", "/autumn", "cancelled"],
	] as const) {
		const body = method === "PUT" ? later : undefined;
		isBroken = true;
		assert.equal((await call(method, path, body)).status, 507, path);
		assert.equal((await call("GET", "/autumn")).body.status, status ?? 404);
		if (method === "POST") assert.match(await ready(), /Writing rollouts failed: ENOSPC/);
		isBroken = false;
		if (path.endsWith("pause")) continue;
		await call(method, path, body);
		assert.doesNotMatch(await ready(), /ENOSPC/);
	}
});

describe("POST /api/rollouts/preview", () => {
	test("counts the devices of a plan without starting it", async (t) => {
		const gateway = await run(t);
		const connect = async (id: string, version: string, chip = "esp32s3") => {
			const device = await gateway.device({ "Device-Id": id, "Device-Chip": chip });
			device.send(withField(reportOf(version), "deviceId", id));
			await gateway.monitor.change("identified");
			return device;
		};
		await connect("dev-1-000001", "1.4.0");
		await connect("dev-1-000002", "2.0.0");
		await connect("dev-1-000003", "1.0.0", "esp32");
		const away = await connect("dev-1-000004", "1.0.0");
		away.socket.close();
		await gateway.monitor.change("disconnected");
		const { status, body } = await gateway.call("POST", "/preview", smallest);
		assert.equal(status, 200);
		const { plan, ...counts } = body;
		assert.deepEqual(counts, { total: 5, away: 1, alreadyInstalled: 1, downgrades: 1, doNotFit: 1, busy: 0 });
		assert.equal(plan.groups.length, 2);
		assert.deepEqual((await gateway.call("GET", "")).body.rollouts, []);
		const { body: rollout } = await gateway.call("PUT", "/autumn", smallest);
		const expected = { already_installed: 1, rejected: 2, queued: 1, offered: 1 };
		assert.deepEqual({ ...rollout.counts, ...expected }, rollout.counts);
		assert.equal((await gateway.call("POST", "/preview", smallest)).body.busy, 2);
		const downgrade = { ...smallest, firmware: { version: "1.1.0" }, allowDowngrade: true };
		assert.equal((await gateway.call("POST", "/preview", downgrade)).body.downgrades, 3);
		assert.equal((await gateway.call("POST", "/preview", { ...smallest, maxAttempts: 99 })).status, 422);
	});
});

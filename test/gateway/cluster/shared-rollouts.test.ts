/** Tests of rollouts across gateways in one process, on an interruptible bus. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Log } from "../../../gateway/storage/log.js";
import { deferred, eventually, waitUntil } from "../../support/eventually.js";
import { runFast } from "../../support/fast-time.js";
import { type MemoryBus, MemoryServer } from "../../support/memory-bus.js";
import { writeReleases } from "../../support/releases.js";
import { monitorToken, noRateLimits, runGateway, temporaryDirectory } from "../../support/running.js";
import { ScriptedDevice, type UpdateOutcome } from "../../support/scripted-device.js";
import { runClustered } from "./gateways.js";

type Member = Awaited<ReturnType<typeof start>>;

const quick = {
	firmware: { version: "1.4.0" },
	target: { model: "DEV-1" },
	groups: [{ size: "rest", concurrency: 2, soakSeconds: 0 }],
};
const release = (version: string) => ({ version, model: "DEV-1", chip: "esp32s3" }) as const;

/** Clustered gateways, of which the first drives the rollouts. */
async function run(t: TestContext, count: number, dataDirs: readonly string[] = []) {
	const server = new MemoryServer(runFast(t).monotonic);
	const releasesDir = join(await temporaryDirectory(t), "releases");
	await writeReleases(releasesDir, [release("1.4.0")]);
	const members: Member[] = [];
	for (let index = 0; index < count; index++)
		members.push(await start(t, server, releasesDir, dataDirs[index]));
	const devices: ScriptedDevice[] = [];
	const add = async (member: Member | undefined, ending: UpdateOutcome = "updates") => {
		const deviceId = `dev-1-${String(devices.length).padStart(6, "0")}`;
		const device = new ScriptedDevice({ url: member?.url ?? "", deviceId, ending });
		t.after(() => device.close());
		devices.push(device);
		await device.connect();
		for (const member of members) await knows(member, deviceId);
		return device;
	};
	return { server, members, devices, add, releasesDir };
}

async function start(
	t: TestContext,
	server: MemoryServer,
	releasesDir: string,
	dataDir?: string,
	bus = server.connect(),
) {
	const running = await runClustered(t, bus, {
		...(dataDir !== undefined && { dataDir }),
		monotonic: server.now,
		releasesDir,
		limits: { ...noRateLimits.limits, subscribeMs: 0, gatewayBeatMs: 2_000 },
	});
	return {
		...running,
		bus,
		call: (method: string, path: string, body?: object, headers = {}) =>
			running.api(method, `/api/rollouts/${path}`, body, monitorToken, { headers }),
		/** Resolves once its monitors receive this. */
		async shows(status: string): Promise<Readonly<Record<string, unknown>>> {
			const watcher = await running.subscribe("rollouts");
			const frame: object = await watcher.until((update) => {
				const { type, id, status: shown } = Object(update);
				return type === "rollout_update" && id === "autumn" && shown === status;
			});
			watcher.socket.close();
			return { ...frame };
		},
	};
}

/** Changes the logs that a bus opens from now on. */
function changeLogs(bus: MemoryBus, change: (log: Log) => void): void {
	const open = bus.log.bind(bus);
	bus.log = async (name) => {
		const log = await open(name);
		change(log);
		return log;
	};
}

/** Resolves once a gateway shows the device as connected, with a report. */
async function knows(member: Member, deviceId: string): Promise<void> {
	const watcher = await member.subscribe("");
	await watcher.until(({ sessions = [] }) =>
		sessions.some(
			(session) => session.deviceId === deviceId && session.connected && session.firmwareVersion !== null,
		),
	);
	watcher.socket.close();
}

/** Commands that started an update. */
function offersOf(device: ScriptedDevice): number {
	return device.commands.filter(({ command }) => command === "start_ota").length;
}

test("updates the devices of all gateways from any one, and shows the same at all", async (t) => {
	const { members, devices, add } = await run(t, 3);
	for (const member of [...members, ...members]) await add(member);
	const [driver, second, third] = members;
	assert.ok(driver && second && third, `only ${members.length} gateways`);
	const finished = members.map((member) => member.shows("finished"));
	const { status, body } = await second.call("PUT", "autumn", quick);
	assert.equal(status, 201, JSON.stringify(body));
	assert.equal((await third.call("PUT", "autumn", quick)).status, 200);
	const frames = await Promise.all(finished);
	for (const frame of frames) assert.deepEqual(frame, frames[0]);
	assert.deepEqual(devices.map(offersOf), [1, 1, 1, 1, 1, 1]);
	const shown = await Promise.all(members.map((member) => member.call("GET", "autumn")));
	for (const { body } of shown) {
		assert.deepEqual(body, shown[0]?.body);
		assert.equal(body.counts.succeeded, 6);
	}
	const steps = await Promise.all(members.map((member) => member.call("GET", "autumn/devices")));
	for (const { body } of steps) assert.deepEqual(body, steps[0]?.body);
	assert.equal((await third.call("DELETE", "autumn")).status, 204);
	assert.equal((await third.call("GET", "autumn")).status, 404);
});

test("accepts requests and commands at any gateway, at once too, with the revision seen there", async (t) => {
	const { members, add } = await run(t, 2);
	const [driver, other] = members;
	assert.ok(driver && other, `only ${members.length} gateways`);
	await add(other, "waits");
	await add(driver, "waits");
	const preview = await other.call("POST", "preview", quick);
	assert.deepEqual([preview.body.total, preview.body.away], [2, 0]);
	const put = await Promise.all(members.map((member) => member.call("PUT", "autumn", quick)));
	assert.deepEqual(put.map(({ status }) => status).sort(), [200, 201], "started once");
	// The driver has advanced it; otherwise the revision may change before the next request.
	const { call } = other;
	const readRollout = () => call("GET", "autumn");
	const { body } = await eventually(readRollout, (response) => response.body.status === "running");
	const headers = { "If-Match": `"${body.revision}"` };
	assert.equal((await call("POST", "autumn/pause", undefined, headers)).status, 200);
	assert.equal((await call("POST", "autumn/resume", undefined, headers)).status, 412);
	const resumed = await Promise.all(members.map((member) => member.call("POST", "autumn/resume")));
	for (const { status, body } of resumed) assert.deepEqual([status, body.status], [200, "running"]);
	assert.equal((await other.call("PUT", "winter", quick)).status, 409);
	const started = await other.call("POST", "autumn/cancel");
	assert.equal(started.body.status, "cancelled");
});

test("rejects changes without the bus, and shows the stored state", async (t) => {
	const { members, add } = await run(t, 2);
	const [driver, other] = members;
	assert.ok(driver && other, `only ${members.length} gateways`);
	await add(other, "waits");
	await other.call("PUT", "autumn", quick);
	await other.shows("running");
	other.bus.cut();
	const { status, body } = await other.call("POST", "autumn/pause");
	assert.equal(status, 503);
	assert.match(body.detail, /could not be written to NATS/);
	assert.equal((await other.call("GET", "autumn")).body.status, "running");
	assert.equal((await driver.call("POST", "autumn/pause")).body.status, "paused");
	const told = other.shows("paused");
	other.bus.heal();
	await told;
});

test("continues at another gateway when the driver stops", async (t) => {
	const { members, devices, add } = await run(t, 2);
	const [driver, other] = members;
	assert.ok(driver && other, `only ${members.length} gateways`);
	for (let count = 0; count < 4; count++) await add(other, "waits");
	const groups = [{ size: "rest", concurrency: 1, soakSeconds: 0 }];
	await driver.call("PUT", "autumn", { ...quick, groups });
	const [first] = devices;
	await first?.offered;
	await driver.gateway.close();
	for (const command of ["pause", "resume"])
		assert.equal((await other.call("POST", `autumn/${command}`)).status, 200);
	const finished = other.shows("finished");
	for (const device of devices) void device.offered.then(() => device.finish("updates"));
	assert.equal(Object(await finished).counts.succeeded, 4);
	assert.deepEqual(devices.map(offersOf), [1, 1, 1, 1]);
});

for (const moment of ["before", "after"] as const)
	test(`replaces a driver cut off just ${moment} a later release begins, and sends no image twice`, async (t) => {
		const { server, members, devices, add, releasesDir } = await run(t, 0);
		const bus = server.connect();
		changeLogs(bus, (log) => {
			const append = log.append.bind(log);
			log.append = async (...entry) => {
				const isBeginning = entry[1].includes('"version":"1.5.0"');
				if (isBeginning && moment === "before") bus.cut();
				const written = await append(...entry);
				if (isBeginning) bus.cut();
				return written;
			};
		});
		const driver = await start(t, server, releasesDir, undefined, bus);
		const other = await start(t, server, releasesDir);
		members.push(driver, other);
		for (let index = 0; index < 6; index += 1) await add(other);
		const { firmware: _firmware, target: _target, ...groups } = quick;
		const plan = { ...groups, firmware: { channel: "stable" }, target: { all: true }, standing: true };
		assert.equal((await driver.call("PUT", "autumn", plan)).status, 201);
		const reaches = async (version: string) => {
			await waitUntil(async () => {
				const { body } = await other.call("GET", "autumn");
				return body.version === version && body.counts.succeeded === devices.length;
			});
		};
		await reaches("1.4.0");
		const isCut = new Promise<void>((resolve) => bus.onStatus((isConnected) => isConnected || resolve()));
		await writeReleases(releasesDir, [release("1.5.0"), release("1.4.0")]);
		await isCut;
		await reaches("1.5.0");
		const urls = devices.map(({ commands }) =>
			commands.flatMap(({ command, url }) =>
				command === "start_ota" ? [/v(1\.\d\.0)/.exec(`${url}`)?.[1]] : [],
			),
		);
		for (const versions of urls) assert.deepEqual(versions, ["1.4.0", "1.5.0"]);
		bus.heal();
		await waitUntil(async () => (await driver.call("GET", "autumn")).body.version === "1.5.0");
		assert.deepEqual(devices.map(offersOf), [2, 2, 2, 2, 2, 2]);
		if (moment === "after") return;
		const { entries = [] } = server.logs.get("gw-rollout-log") ?? {};
		assert.ok(
			!entries.some(([, { text }]) => text.includes('"version":"1.4.0"')),
			"it is of no use any more",
		);
	});

test("continues a rollout of a gateway that joins a cluster", async (t) => {
	const dataDir = await temporaryDirectory(t);
	const releasesDir = join(dataDir, "releases");
	await writeReleases(releasesDir, [release("1.4.0")]);
	const alone = await runGateway(t, { dataDir, releasesDir, ...noRateLimits });
	const deviceId = "dev-1-000000";
	const device = await ScriptedDevice.join(t, { url: alone.url, deviceId, ending: "waits" });
	const monitor = await alone.monitor();
	if (monitor.snapshot.sessions.length === 0) await monitor.change("identified");
	const put = await alone.api("PUT", "/api/rollouts/autumn", quick);
	assert.equal(put.status, 201);
	await device.offered;
	await alone.gateway.close();
	const { members } = await run(t, 2, [dataDir]);
	const [joined, other] = members;
	await other?.shows("running");
	const { body } = (await other?.call("GET", "autumn")) ?? {};
	assert.deepEqual([body.plan, body.createdAt], [put.body.plan, put.body.createdAt]);
	const [step] = (await other?.call("GET", "autumn/devices"))?.body.devices ?? [];
	// The driver may have revoked an offer by then that no gateway has marked as sent.
	assert.deepEqual([step?.deviceId, ["offered", "queued"].includes(step?.status)], [deviceId, true]);
	await joined?.call("POST", "autumn/cancel");
	assert.equal(existsSync(join(dataDir, "rollouts", "autumn")), false);
});

test("does not drive before the devices of the others are known", async (t) => {
	const { server, members, add, releasesDir } = await run(t, 1);
	const [driver] = members;
	assert.ok(driver, "no gateway");
	const away = await add(driver);
	const groups = [{ size: "rest", concurrency: 1, soakSeconds: 0 }];
	const target = { devices: [away.deviceId] };
	away.close();
	const startsAt = new Date(Date.now() + 3_600_000).toISOString();
	await driver.call("PUT", "autumn", { ...quick, groups, target, startsAt });
	await driver.gateway.close();

	const bus = server.connect();
	const { promise: records, resolve: release } = deferred();
	const open = bus.bucket.bind(bus);
	bus.bucket = async (name, options) => {
		if (name === "gw-record-devices") await records;
		return open(name, options);
	};
	const starting = start(t, server, releasesDir, undefined, bus);
	await waitUntil(() => server.buckets.get("gw-lease")?.entries.size === 0);
	release();
	const late = await starting;
	const isClaimed = () =>
		server.logs.get("gw-rollout-log")?.entries.some(([, { text }]) => text.includes("claimed"));
	await waitUntil(isClaimed);
	assert.equal((await late.call("POST", "autumn/pause")).status, 200);
	const { body } = await late.call("GET", "autumn/devices");
	assert.deepEqual([body.devices[0].deviceId, body.devices[0].status], [away.deviceId, "queued"]);
});

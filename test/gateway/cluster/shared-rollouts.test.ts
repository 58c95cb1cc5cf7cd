/** Tests of rollouts across gateways in one process, on an interruptible bus. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Log } from "../../../gateway/storage/log.js";
import { eventually, waitUntil } from "../../support/eventually.js";
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

/** Clustered gateways, which start rollouts after they have learned the devices of the others. */
async function run(t: TestContext, count: number, dataDirs: readonly string[] = []) {
	const { monotonic } = runFast(t);
	const server = new MemoryServer();
	const releasesDir = join(await temporaryDirectory(t), "releases");
	await writeReleases(releasesDir, [release("1.4.0")]);
	const members: Member[] = [];
	for (let index = 0; index < count; index++)
		members.push(await start(t, { server, monotonic, releasesDir, dataDir: dataDirs[index] }));
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
	const joinBy = async (bus: MemoryBus) => start(t, { server, monotonic, releasesDir, bus });
	return { server, members, devices, add, joinBy, releasesDir };
}

interface StartOptions {
	readonly server: MemoryServer;
	readonly monotonic: () => number;
	readonly releasesDir: string;
	readonly dataDir?: string | undefined;
	readonly bus?: MemoryBus;
}

async function start(
	t: TestContext,
	{ server, monotonic, releasesDir, dataDir, bus = server.connect() }: StartOptions,
) {
	const running = await runClustered(t, bus, {
		...(dataDir !== undefined && { dataDir }),
		monotonic,
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
	const [, second, third] = members;
	assert.ok(second && third, `only ${members.length} gateways`);
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
	const [first, other] = members;
	assert.ok(first && other, `only ${members.length} gateways`);
	await add(other, "waits");
	await add(first, "waits");
	const preview = await other.call("POST", "preview", quick);
	assert.deepEqual([preview.body.total, preview.body.away], [2, 0]);
	const put = await Promise.all(members.map((member) => member.call("PUT", "autumn", quick)));
	assert.deepEqual(put.map(({ status }) => status).sort(), [200, 201], "started once");
	// It was advanced; otherwise the revision may change before the next request.
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
	const [first, other] = members;
	assert.ok(first && other, `only ${members.length} gateways`);
	await add(other, "waits");
	await other.call("PUT", "autumn", quick);
	await other.shows("running");
	other.bus.cut();
	const { status, body } = await other.call("POST", "autumn/pause");
	assert.equal(status, 503);
	assert.match(body.detail, /could not be written to NATS/);
	assert.equal((await other.call("GET", "autumn")).body.status, "running");
	assert.equal((await first.call("POST", "autumn/pause")).body.status, "paused");
	const told = other.shows("paused");
	other.bus.heal();
	await told;
});

test("continues the updates of a stopped gateway when its devices connect to another one", async (t) => {
	const { members, devices, add } = await run(t, 2);
	const [first, other] = members;
	assert.ok(first && other, `only ${members.length} gateways`);
	for (const member of [first, first, other, other]) await add(member, "waits");
	const groups = [{ size: "rest", concurrency: 4, soakSeconds: 0 }];
	await first.call("PUT", "autumn", { ...quick, groups });
	await Promise.all(devices.map(({ offered }) => offered));
	await first.gateway.close();
	for (const command of ["pause", "resume"])
		assert.equal((await other.call("POST", `autumn/${command}`)).status, 200);
	const finished = other.shows("finished");
	for (const device of devices.slice(2)) device.finish("updates");
	for (const { deviceId } of devices.slice(0, 2)) {
		const report = { "system.firmware_version": "1.4.0" };
		devices.push(await ScriptedDevice.join(t, { url: other.url, deviceId, report }));
	}
	assert.equal(Object(await finished).counts.succeeded, 4);
	assert.deepEqual(devices.map(offersOf), [1, 1, 1, 1, 0, 0]);
});

test("continues with a later release once, even if a gateway is cut off when it begins", async (t) => {
	const { server, members, devices, add, joinBy, releasesDir } = await run(t, 1);
	const bus = server.connect();
	changeLogs(bus, (log) => {
		const append = log.append.bind(log);
		log.append = async (...entry) => {
			const written = await append(...entry);
			if (entry[1].includes('"version":"1.5.0"')) bus.cut();
			return written;
		};
	});
	members.push(await joinBy(bus));
	const [other, cutOff] = members;
	assert.ok(other && cutOff, `only ${members.length} gateways`);
	for (let count = 0; count < 4; count++) await add(other);
	const { firmware: _firmware, target: _target, ...groups } = quick;
	const plan = { ...groups, firmware: { channel: "stable" }, target: { all: true }, standing: true };
	assert.equal((await other.call("PUT", "autumn", plan)).status, 201);
	const reaches = (member: Member, version: string) =>
		waitUntil(async () => {
			const { body } = await member.call("GET", "autumn");
			return body.version === version && body.counts.succeeded === devices.length;
		});
	await reaches(other, "1.4.0");
	await writeReleases(releasesDir, [release("1.5.0"), release("1.4.0")]);
	await reaches(other, "1.5.0");
	bus.heal();
	await reaches(cutOff, "1.5.0");
	assert.deepEqual(devices.map(offersOf), [2, 2, 2, 2]);
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
	assert.deepEqual([step?.deviceId, step?.status], [deviceId, "offered"]);
	await joined?.call("POST", "autumn/cancel");
	assert.equal(existsSync(join(dataDir, "rollouts", "autumn")), false);
});

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { DeviceStore, deviceRecord } from "../../../gateway/sessions/device-store.js";
import { Records } from "../../../gateway/storage/records.js";
import { failingDisk } from "../../support/disk.js";
import { waitUntil } from "../../support/eventually.js";
import { emptyEngine, makeDevice, makeSessions } from "../../support/record-stubs.js";
import { reportWithVolume, runGateway, runWithDevice } from "../../support/running.js";

test("forgets a device whose record another process has removed, and ignores its writes", async (t) => {
	t.mock.timers.enable({ apis: ["setInterval"] });
	const engine = emptyEngine();
	const { events, sessions, open } = makeSessions();
	const problems: string[] = [];
	const store = new DeviceStore({
		records: (options) => new Records({ ...options, engine, onProblem: (problem) => problems.push(problem) }),
		sessions,
		monotonic: () => 0,
	});
	events.on(store.listeners);
	await store.open();
	const { device } = open("dev-1-000001");
	assert.ok(device, "no device");
	engine.onChange?.("dev-1-000001", JSON.stringify(deviceRecord.format(device)));
	engine.onChange?.("dev-1-000001", "damaged, and of no interest here");
	assert.deepEqual(problems, []);
	sessions.end(device.session, "disconnected");
	engine.onChange?.("dev-1-000001", undefined);
	assert.equal(sessions.devices.size, 0);
	await store.close();
});

describe("record of a device is written", () => {
	/** Devices first seen and written just now. */
	async function seen(t: TestContext, count: number) {
		t.mock.timers.enable({ apis: ["setInterval"] });
		let now = 0;
		/** Time that a write takes. */
		const clock = { writeMs: 0 };
		let written: string[] = [];
		const write = async (key: string) => {
			now += clock.writeMs;
			written.push(key);
		};
		const monotonic = () => now;
		const known = new DeviceStore({
			records: (kind) =>
				new Records({ ...kind, engine: { ...emptyEngine(), write }, onProblem: assert.fail }),
			...makeSessions({ now: monotonic, monotonic }),
			monotonic,
		});
		await known.open();
		const devices = Array.from({ length: count }, (_, index) => makeDevice(`dev-1-${index}`));
		/** @returns the number of records written */
		const settle = async () => {
			await setImmediate();
			const { length } = written;
			written = [];
			return length;
		};
		/** Advances by minutes, then by one second. */
		const pass = (minutes = 0) => {
			now += minutes * 60_000 + 1000;
			t.mock.timers.tick(1000);
			return settle();
		};
		for (const device of devices) known.onSeen(device);
		assert.equal(await settle(), count, "a device that is new does not wait for its second");
		return { known, devices, pass, settle, clock };
	}

	test("within a second after changes, and within minutes after connects, disconnects and reports", async (t) => {
		const { known, devices, pass, settle } = await seen(t, 1);
		const [device] = devices;
		assert.ok(device, "no device");
		known.onSeen(device);
		assert.equal(await pass(), 0);
		device.resets = [{ reason: "BROWNOUT_RESET", at: 0 }];
		known.onSeen(device);
		assert.equal(await pass(), 1);
		known.onSeen(device);
		assert.equal(await pass(5), 1);
		known.onSeen(device);
		await known.close();
		assert.equal(await settle(), 1);
	});

	test("when the gateway stops: changes always, timestamps while time permits", async (t) => {
		const { known, devices, settle, clock } = await seen(t, 300);
		for (const device of devices) known.onSeen(device);
		for (const device of devices.slice(-10)) {
			device.resets = [{ reason: "BROWNOUT_RESET", at: 0 }];
			known.onSeen(device);
		}
		clock.writeMs = 5;
		await known.settle();
		const first = await settle();
		assert.ok(first >= 100 && first < 200, `${first} in 500 ms`);
		clock.writeMs = 0;
		await known.close();
		assert.equal(first + (await settle()), 300);
	});

	test("at spread times, even if many devices were seen at once", async (t) => {
		const { known, devices, pass } = await seen(t, 40);
		for (const device of devices) known.onSeen(device);
		assert.equal(await pass(2), 0);
		const written: number[] = [];
		for (let second = 0; second < 200; second += 1) written.push(await pass());
		const total = written.reduce((sum, count) => sum + count);
		assert.equal(total, 40);
		assert.ok(Math.max(...written) < 20, `${Math.max(...written)} in one second`);
		await known.close();
	});
});

describe("known device", () => {
	test("is written with its last state before its connection has closed", async (t) => {
		let now = 1_000_000;
		const limits = { closeTimeoutMs: 600_000 };
		const { gateway, monitor, device } = await runWithDevice(t, { now: () => now, limits });
		const path = join(gateway.dataDir, "devices", "dev-1-a1b2c3.json");
		const lastReportIs = async (time: number) => {
			await waitUntil(async () => {
				const content = await readFile(path, "utf8").catch(() => "{}");
				return JSON.parse(content).lastReportAt === time;
			});
		};
		await lastReportIs(now);
		now += 1000;
		device.send(reportWithVolume(7));
		await monitor.until(({ message }) => JSON.stringify(message ?? null).includes('"volume":7'));
		device.socket.pause();
		const stopped = gateway.gateway.close();
		await lastReportIs(now);
		device.socket.terminate();
		await stopped;
	});

	test("is evicted with its files if it never reported and was offline longest", async (t) => {
		const first = await runGateway(t, { maxDevices: 2 });
		const monitor = await first.monitor();
		for (const id of ["one", "two", "three"]) {
			const device = await first.device({ "Device-Id": id });
			device.send({ type: "ota_error", reason: "x" });
			await monitor.change("ota");
			device.socket.close();
			await monitor.change("disconnected");
		}
		await first.gateway.close();
		for (const folder of ["devices", "updates"])
			assert.deepEqual((await readdir(join(first.dataDir, folder))).sort(), ["three.json", "two.json"]);
		const second = await runGateway(t, { dataDir: first.dataDir, maxDevices: 1 });
		const { sessions } = (await second.monitor()).snapshot;
		const deviceIds = sessions.map(({ deviceId }) => deviceId);
		assert.deepEqual(deviceIds, ["two", "three"]);
	});
});

test("a failing disk makes /readyz fail until everything is written, including new devices", async (t) => {
	const full = failingDisk("create", "ENOSPC");
	full.isFailing = false;
	const { api, ...gateway } = await runGateway(t, { disk: full.disk });
	const readyz = () => api("GET", "/readyz");
	assert.equal((await readyz()).status, 200);
	full.isFailing = true;
	await gateway.reporting(await gateway.monitor(), "dev-1-000001");
	await waitUntil(async () => (await readyz()).status !== 200);
	assert.match((await readyz()).text, /cannot be written \(ENOSPC\)/);
	full.isFailing = false;
	await waitUntil(async () => (await readyz()).status === 200);
	const path = join(gateway.dataDir, "devices", "dev-1-000001.json");
	assert.equal(JSON.parse(await readFile(path, "utf8")).firmwareVersion, "1.2.3");
});

test("well-forms a stored report", () => {
	const report = JSON.stringify(reportWithVolume(1)).replace(/"wifi_ssid":"[^"]*"/, '"wifi_ssid":"\\ud83d"');
	const stored = { ...deviceRecord.format(makeDevice("d")), report };
	const { state } = deviceRecord.parse(stored, "d") ?? {};
	assert.match(String(state?.text), /"wifi_ssid":"\\ufffd"/);
});

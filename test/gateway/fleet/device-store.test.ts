import assert from "node:assert/strict";
import disk, { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, type TestContext, test } from "node:test";
import { Device, Session } from "../../../gateway/sessions/device.js";
import { DeviceStore } from "../../../gateway/sessions/device-store.js";
import { Sessions } from "../../../gateway/sessions/sessions.js";
import { fileRecords } from "../../../gateway/storage/file-records.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { waitUntil } from "../../support/eventually.js";
import {
	bearer,
	deviceToken,
	monitorToken,
	type Running,
	reportWithVolume,
	runGateway,
} from "../../support/running.js";
import { altered, sampleReport } from "../../support/sample-report.js";

const named = { "Device-Id": "dev-1-a1b2c3", "Device-Model": "DEV-1", "Device-Chip": "esp32s3" };

async function ask({ url }: Running, path: string, method = "GET", token = monitorToken) {
	const response = await fetch(`${url}/api/devices${path}`, { method, headers: bearer(token) });
	const body = await response.text();
	return { status: response.status, json: body === "" ? undefined : JSON.parse(body) };
}

function reported(version: string, uptimeSeconds: number, reason: string) {
	return altered(
		altered(
			altered(sampleReport("DEV-1"), "system.firmware_version", version),
			"health.uptime_seconds",
			uptimeSeconds,
		),
		"health.reset_reason",
		reason,
	);
}

describe("a device that was connected", () => {
	test("is still known after a restart of the gateway, with its whole record", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const first = await runGateway(t, { dataDir });
		const monitor = await first.monitor();
		const device = await first.device({ ...named, "Device-Features": "identify, restart" });
		const text = JSON.stringify(reportWithVolume(7)).replace('"volume":7', '"volume" : 7.0');
		device.send(text);
		await monitor.change("identified");
		device.send({ type: "settings_result", deviceId: "dev-1-a1b2c3", outcome: "kept" });
		device.send({ type: "ota_error", reason: "HTTP 404" });
		await monitor.change("ota");
		device.socket.close();
		const gone = await monitor.change("disconnected");
		const known = await ask(first, "/dev-1-a1b2c3");
		await first.gateway.close();

		const second = await runGateway(t, { dataDir });
		const later = await second.monitor();
		assert.deepEqual(later.snapshot.sessions, [gone]);
		assert.deepEqual(gone.features, ["identify", "restart"]);
		assert.equal(gone.metadata.otaStatus, "failed");
		assert.deepEqual(await ask(second, "/dev-1-a1b2c3"), known);
		assert.ok(Date.parse(known.json.settingsKeptAt) > 0, `settings kept at ${known.json.settingsKeptAt}`);
		assert.equal(known.json.updates[0].reason, "HTTP 404");
		for (const targetId of [gone.sessionId, "dev-1-a1b2c3"])
			assert.equal((await later.ask({ type: "boot_device", targetId })).code, "target_offline");
		await second.device(named);
		const back = await later.change("connected");
		assert.deepEqual([back.state, back.firmwareVersion], [gone.state, gone.firmwareVersion]);
		assert.notEqual(back.sessionId, gone.sessionId);
	});

	test("has a history of versions and restarts, the last ten of each", async (t) => {
		let now = Date.parse("2026-11-20T12:00:00Z");
		const gateway = await runGateway(t, { now: () => now });
		const monitor = await gateway.monitor();
		for (let run = 0; run < 12; run += 1) {
			const device = await gateway.device(named);
			now += 10_000;
			device.send(reported(`1.${run}.0`, 5, `REASON_${run}`));
			await monitor.change("identified");
			now += 60_000;
			device.send(reported(`1.${run}.0`, 65, `REASON_${run}`));
			await monitor.until(({ type }) => type === "device_message");
			device.socket.close();
			await monitor.change("disconnected");
		}
		const again = await gateway.device(named);
		now += 60_000;
		again.send(reported("1.11.0", 65 + 60, "REASON_11"));
		await monitor.until(({ message }) => JSON.stringify(message ?? null).includes('"uptime_seconds":125'));
		const { json } = await ask(gateway, "/dev-1-a1b2c3");
		const runs = Array.from({ length: 10 }, (_, index) => index + 2);
		assert.deepEqual(
			json.versions.map(({ version }: { version: string }) => version),
			runs.map((run) => `1.${run}.0`),
		);
		assert.deepEqual(
			json.resets.map(({ reason }: { reason: string }) => reason),
			runs.map((run) => `REASON_${run}`),
		);
		assert.equal(json.resets[9].at, new Date(now - 125_000).toISOString());
		assert.equal(json.versions[9].at, new Date(now - 120_000).toISOString());
		assert.equal(json.firstSeenAt, "2026-11-20T12:00:00.000Z");
	});

	test("is on disk within a second after a change, in a file of its own", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const gateway = await runGateway(t, { dataDir });
		const monitor = await gateway.monitor();
		const { device } = await gateway.namedDevice(monitor);
		const path = join(dataDir, "devices", "dev-1-a1b2c3.json");
		const untilVersionsAre = async (count: number) => {
			await waitUntil(async () => {
				const content = await readFile(path, "utf8").catch(() => "{}");
				return JSON.parse(content).versions?.length === count;
			});
		};
		await untilVersionsAre(1);
		device.send(reported("9.9.9", 0, "SW_RESET"));
		await untilVersionsAre(2);
	});

	test("is on disk with its last state while the gateway still waits for it to close", async (t) => {
		const dataDir = await temporaryDirectory(t);
		let now = 1_000_000;
		const gateway = await runGateway(t, { dataDir, now: () => now, limits: { closeTimeoutMs: 600_000 } });
		const monitor = await gateway.monitor();
		const { device } = await gateway.namedDevice(monitor);
		const path = join(dataDir, "devices", "dev-1-a1b2c3.json");
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

	describe("is written", () => {
		/** Devices that have just been seen, and written, for the first time. */
		async function seen(t: TestContext, count: number) {
			t.mock.timers.enable({ apis: ["setInterval"] });
			let now = 0;
			const directory = await temporaryDirectory(t);
			const onProblem = (problem: string) => assert.fail(problem);
			const settles: (() => Promise<void>)[] = [];
			const known = new DeviceStore({
				records: ({ name, ...kind }) => {
					const made = fileRecords({ ...kind, directory: join(directory, name), disk });
					settles.push(() => made.settle());
					return made;
				},
				sessions: new Sessions({ now: () => now, monotonic: () => now, maxDevices: 10 }),
				monotonic: () => now,
				onProblem,
			});
			await known.open();
			const devices = Array.from({ length: count }, (_, index) => {
				const handshake = {
					deviceId: undefined,
					isBound: false,
					features: [],
					model: undefined,
					chip: undefined,
				};
				const connection = { send: () => {}, isOpen: () => true, close: () => {} };
				const session = new Session({ ...handshake, remoteAddress: "", baseUrl: "" }, connection, now);
				return new Device(`dev-1-${index}`, session);
			});
			/** @returns how many files were written */
			const settle = async () => {
				for (const each of settles) await each();
				const names = await readdir(join(directory, "devices"));
				for (const name of names) await rm(join(directory, "devices", name));
				return names.length;
			};
			/** One second, after some minutes. */
			const pass = (minutes = 0) => {
				now += minutes * 60_000 + 1000;
				t.mock.timers.tick(1000);
				return settle();
			};
			for (const device of devices) known.onSeen(device);
			assert.equal(await settle(), count, "a device that is new does not wait for its second");
			return { known, devices, pass, settle };
		}

		test("immediately when it has changed, and within minutes when it connects, disconnects or reports", async (t) => {
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

		test("when the gateway stops: changes always, times alone as long as the stop may take", async (t) => {
			const { known, devices, settle } = await seen(t, 300);
			for (const device of devices) known.onSeen(device);
			for (const device of devices.slice(-10)) {
				device.resets = [{ reason: "BROWNOUT_RESET", at: 0 }];
				known.onSeen(device);
			}
			let asked = 0;
			await known.settle(() => ++asked > 100);
			assert.equal(await settle(), 110);
			await known.close();
			assert.equal(await settle(), 190);
		});

		test("at a time of its own, even if many were seen at the same time", async (t) => {
			const { known, devices, pass } = await seen(t, 40);
			for (const device of devices) known.onSeen(device);
			assert.equal(await pass(2), 0);
			const written: number[] = [];
			for (let second = 0; second < 200; second += 1) written.push(await pass());
			assert.equal(
				written.reduce((sum, each) => sum + each),
				40,
			);
			assert.ok(Math.max(...written) < 20, `${Math.max(...written)} in one second`);
			await known.close();
		});
	});

	test("is found again even if the clock was before 1970", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const first = await runGateway(t, { dataDir, now: () => -86_400_000 });
		const monitor = await first.monitor();
		await first.namedDevice(monitor);
		await first.gateway.close();
		const second = await runGateway(t, { dataDir });
		const { json } = await ask(second, "/dev-1-a1b2c3");
		assert.equal(json.connectedAt, "1969-12-31T00:00:00.000Z");
		assert.equal(json.versions.length, 1);
	});

	test("with a time outside of the range of Date does not break the snapshot", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const first = await runGateway(t, { dataDir });
		const monitor = await first.monitor();
		for (const id of ["dev-1-000001", "dev-1-000002"]) {
			(await first.device({ "Device-Id": id })).send(reportWithVolume(1, id));
			await monitor.change("identified");
		}
		await first.gateway.close();
		const path = join(dataDir, "devices", "dev-1-000001.json");
		const content = await readFile(path, "utf8");
		await writeFile(path, content.replace(/"lastSeenAt": \d+/, '"lastSeenAt": 8640000000000001'));
		const second = await runGateway(t, { dataDir });
		const { snapshot } = await second.monitor();
		assert.deepEqual(
			snapshot.sessions.map(({ deviceId }) => deviceId),
			["dev-1-000002"],
		);
		assert.equal((await ask(second, "")).status, 200);
	});

	test("with a damaged file is lost alone", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const first = await runGateway(t, { dataDir });
		const monitor = await first.monitor();
		for (const id of ["dev-1-000001", "dev-1-000002", "dev-1-000003", "dev-1-000004"]) {
			const device = await first.device({ "Device-Id": id });
			device.send(reportWithVolume(1, id));
			await monitor.change("identified");
		}
		await first.gateway.close();
		const pathOf = (id: string) => join(dataDir, "devices", `dev-1-00000${id}.json`);
		await writeFile(pathOf("1"), "half");
		await writeFile(
			pathOf("2"),
			(await readFile(pathOf("2"), "utf8")).replace(/"report": "\{/, '"report": "'),
		);
		await writeFile(`${pathOf("3")}.0.tmp`, "half");
		await writeFile(pathOf("4"), '{"firstSeenAt":0}');
		const lines = new PassThrough({ encoding: "utf8" });
		const second = await runGateway(t, { dataDir, log: createLog("info", lines) });
		const { json } = await ask(second, "");
		assert.deepEqual(
			json.devices.map(({ deviceId }: { deviceId: string }) => deviceId),
			["dev-1-000003"],
		);
		const log = String(lines.read());
		for (const id of ["1", "2", "4"]) assert.match(log, new RegExp(`dev-1-00000${id}\\.json is damaged`));
		assert.equal(
			(await readdir(join(dataDir, "devices"))).some((name) => name.endsWith(".tmp")),
			false,
		);
	});

	test("is forgotten with its files when there are too many and it was away longest", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const first = await runGateway(t, { dataDir, maxDevices: 2 });
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
			assert.deepEqual((await readdir(join(dataDir, folder))).sort(), ["three.json", "two.json"]);
		const second = await runGateway(t, { dataDir, maxDevices: 1 });
		assert.deepEqual(
			(await second.monitor()).snapshot.sessions.map(({ deviceId }) => deviceId),
			["three"],
		);
	});
});

describe("/api/devices", () => {
	test("lists every device, and gives the details of one", async (t) => {
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		await gateway.device(named);
		const connected = await monitor.change("connected");
		const { json } = await ask(gateway, "");
		const { state, ...head } = connected;
		const unreported = { rssi: null, ssid: null, volume: null };
		const listed = { ...head, chip: "esp32s3", firstSeenAt: connected.connectedAt, ...unreported };
		assert.deepEqual(json, { devices: [listed] });
		const one = await ask(gateway, "/dev-1-a1b2c3");
		const nothing = { settingsKeptAt: null, versions: [], resets: [], updates: [], crashes: [] };
		// Of an extension.
		const { before: _, ...details } = one.json;
		assert.deepEqual(details, { ...listed, ...nothing, state });
		const unknown = await ask(gateway, "/unknown");
		assert.deepEqual([unknown.status, unknown.json.status], [404, 404]);
	});

	test("forgets a disconnected device, and monitors get a new snapshot", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const gateway = await runGateway(t, { dataDir, limits: { snapshotPauseMs: 10 } });
		const monitor = await gateway.monitor();
		const { device, session } = await gateway.namedDevice(monitor);
		const connected = await ask(gateway, "/dev-1-a1b2c3", "DELETE");
		assert.deepEqual([connected.status, /is connected/.test(connected.json.detail)], [409, true]);
		device.send({ type: "ota_error", reason: "x" });
		device.socket.close();
		await monitor.change("disconnected");
		assert.deepEqual(await ask(gateway, "/dev-1-a1b2c3", "DELETE"), { status: 204, json: undefined });
		const { sessions } = await monitor.until(({ reason }) => reason === "snapshot");
		assert.deepEqual(sessions, []);
		assert.equal((await ask(gateway, "/dev-1-a1b2c3", "DELETE")).status, 404);
		const { sessionId: targetId } = session;
		assert.equal((await monitor.ask({ type: "boot_device", targetId })).code, "unknown_target");
		await gateway.gateway.close();
		for (const folder of ["devices", "updates"]) assert.deepEqual(await readdir(join(dataDir, folder)), []);
	});

	test("does not forget a device whose files cannot be removed: 507, and it is known after a restart", async (t) => {
		for (const folder of ["devices", "updates", "crashes"]) {
			const dataDir = await temporaryDirectory(t);
			let isReadOnly = false;
			const rm: typeof disk.rm = async (path, options) => {
				const isMeant = isReadOnly && String(path).includes(join(dataDir, folder));
				if (isMeant) throw Object.assign(new Error("read-only"), { code: "EROFS" });
				await disk.rm(path, options);
			};
			const gateway = await runGateway(t, { dataDir, disk: { ...disk, rm } });
			const monitor = await gateway.monitor();
			const { device } = await gateway.namedDevice(monitor);
			device.send({ type: "ota_error", reason: "x" });
			device.socket.close();
			await monitor.change("disconnected");
			isReadOnly = true;
			const refused = await ask(gateway, "/dev-1-a1b2c3", "DELETE");
			assert.deepEqual([refused.status, /disk and stays/.test(refused.json.detail)], [507, true]);
			assert.equal((await ask(gateway, "/dev-1-a1b2c3")).json.updates.length, 1);
			isReadOnly = false;
			await gateway.gateway.close();
			const again = await runGateway(t, { dataDir });
			assert.equal((await ask(again, "/dev-1-a1b2c3")).json.updates[0].reason, "x");
			assert.equal((await ask(again, "/dev-1-a1b2c3", "DELETE")).status, 204);
		}
	});
});

describe("a disk that cannot be written", () => {
	test("makes /readyz fail until everything is written, also a device that was first seen meanwhile", async (t) => {
		const dataDir = await temporaryDirectory(t);
		let code: string | undefined;
		const open: typeof disk.open = async (path, flags, mode) => {
			if (code !== undefined && flags === "wx") throw Object.assign(new Error(code), { code });
			return disk.open(path, flags, mode);
		};
		const gateway = await runGateway(t, { dataDir, disk: { ...disk, open } });
		const readyz = async () => {
			const response = await fetch(`${gateway.url}/readyz`);
			return { status: response.status, text: await response.text() };
		};
		assert.equal((await readyz()).status, 200);
		for (const [id, each] of [
			["dev-1-000001", "ENOSPC"],
			["dev-1-000002", "EMFILE"],
		] as const) {
			code = each;
			const monitor = await gateway.monitor();
			(await gateway.device({ "Device-Id": id })).send(reportWithVolume(1, id));
			await monitor.change("identified");
			await waitUntil(async () => (await readyz()).status !== 200);
			assert.match((await readyz()).text, new RegExp(`cannot be written \\(${each}\\)`));
			code = undefined;
			await waitUntil(async () => (await readyz()).status === 200);
			const path = join(dataDir, "devices", `${id}.json`);
			assert.equal(JSON.parse(await readFile(path, "utf8")).firmwareVersion, "1.2.3");
		}
	});
});

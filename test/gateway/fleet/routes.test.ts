import assert from "node:assert/strict";
import disk, { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, test } from "node:test";
import { createLog } from "../../../gateway/telemetry/log.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import {
	bearer,
	monitorToken,
	type RunningGateway,
	reportWithVolume,
	runGateway,
} from "../../support/running.js";
import { sampleReport, withField } from "../../support/sample-report.js";

const named = { "Device-Id": "dev-1-a1b2c3", "Device-Model": "DEV-1", "Device-Chip": "esp32s3" };

async function ask({ url }: RunningGateway, path: string, method = "GET", token = monitorToken) {
	const response = await fetch(`${url}/api/devices${path}`, { method, headers: bearer(token) });
	const body = await response.text();
	return { status: response.status, json: body === "" ? undefined : JSON.parse(body) };
}

function reported(version: string, uptimeSeconds: number, reason: string) {
	return withField(
		withField(
			withField(sampleReport("DEV-1"), "system.firmware_version", version),
			"health.uptime_seconds",
			uptimeSeconds,
		),
		"health.reset_reason",
		reason,
	);
}

describe("known device", () => {
	test("is kept with its whole record across a restart", async (t) => {
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
			assert.equal((await later.request({ type: "boot_device", targetId })).code, "target_offline");
		await second.device(named);
		const back = await later.change("connected");
		assert.deepEqual([back.state, back.firmwareVersion], [gone.state, gone.firmwareVersion]);
		assert.notEqual(back.sessionId, gone.sessionId);
	});

	test("has the last ten versions and restarts", async (t) => {
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

	test("does not break the snapshot with a time outside the range of Date", async (t) => {
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

	test("is lost alone if its file is damaged, and well-formed if stored otherwise", async (t) => {
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
		const { report, ...rest } = JSON.parse(await readFile(pathOf("3"), "utf8"));
		const illFormed = report.replace(/"wifi_ssid":"[^"]*"/, '"wifi_ssid":"\\ud83d"');
		await writeFile(pathOf("3"), JSON.stringify({ ...rest, report: illFormed }));
		await writeFile(pathOf("4"), '{"firstSeenAt":0}');
		const lines = new PassThrough({ encoding: "utf8" });
		const second = await runGateway(t, { dataDir, log: createLog("info", lines) });
		const { json } = await ask(second, "");
		assert.deepEqual(
			json.devices.map(({ deviceId }: { deviceId: string }) => deviceId),
			["dev-1-000003"],
		);
		const { state } = (await ask(second, "/dev-1-000003")).json;
		assert.equal(state.network.wifi_ssid, "\ufffd");
		const log = String(lines.read());
		for (const id of ["1", "2", "4"]) assert.match(log, new RegExp(`dev-1-00000${id}\\.json is damaged`));
		assert.equal(
			(await readdir(join(dataDir, "devices"))).some((name) => name.endsWith(".tmp")),
			false,
		);
	});
});

describe("/api/devices", () => {
	test("lists every device, and returns details of one", async (t) => {
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
		// Field of an extension.
		const { before: _, ...details } = one.json;
		assert.deepEqual(details, { ...listed, ...nothing, state });
		const unknown = await ask(gateway, "/unknown");
		assert.deepEqual([unknown.status, unknown.json.status], [404, 404]);
	});

	test("forgets a disconnected device, and sends monitors a new snapshot", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const gateway = await runGateway(t, { dataDir, limits: { snapshotDebounceMs: 10 } });
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
		assert.equal((await monitor.request({ type: "boot_device", targetId })).code, "unknown_target");
		await gateway.gateway.close();
		for (const folder of ["devices", "updates"]) assert.deepEqual(await readdir(join(dataDir, folder)), []);
	});

	test("returns 507 and keeps a device whose files cannot be removed", async (t) => {
		for (const folder of ["devices", "updates", "crashes"]) {
			const dataDir = await temporaryDirectory(t);
			let isReadOnly = false;
			const rm: typeof disk.rm = async (path, options) => {
				const predicate = isReadOnly && String(path).includes(join(dataDir, folder));
				if (predicate) throw Object.assign(new Error("read-only"), { code: "EROFS" });
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
			assert.deepEqual([refused.status, /Removing .* failed/.test(refused.json.detail)], [507, true]);
			assert.equal((await ask(gateway, "/dev-1-a1b2c3")).json.updates.length, 1);
			isReadOnly = false;
			await gateway.gateway.close();
			const again = await runGateway(t, { dataDir });
			assert.equal((await ask(again, "/dev-1-a1b2c3")).json.updates[0].reason, "x");
			assert.equal((await ask(again, "/dev-1-a1b2c3", "DELETE")).status, 204);
		}
	});
});

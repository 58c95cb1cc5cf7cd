import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { failingDisk } from "../../support/disk.js";
import { reportWithVolume, runGateway } from "../../support/running.js";

const id = "dev-1-a1b2c3";
const path = `/api/devices/${id}`;
const named = { "Device-Id": id, "Device-Model": "DEV-1", "Device-Chip": "esp32s3" };

test("a known device is kept with its whole record across a restart", async (t) => {
	const first = await runGateway(t);
	const monitor = await first.monitor();
	const device = await first.device({ ...named, "Device-Features": "identify, restart" });
	device.send(reportWithVolume(7));
	await monitor.change("identified");
	device.send({ type: "settings_result", deviceId: id, outcome: "kept" });
	device.send({ type: "ota_error", reason: "HTTP 404" });
	await monitor.change("ota");
	device.socket.close();
	const gone = await monitor.change("disconnected");
	const { body: known } = await first.api("GET", path);
	await first.gateway.close();

	const second = await runGateway(t, { dataDir: first.dataDir });
	const later = await second.monitor();
	assert.deepEqual(later.snapshot.sessions, [gone]);
	assert.deepEqual([gone.features, gone.metadata.otaStatus], [["identify", "restart"], "failed"]);
	assert.deepEqual((await second.api("GET", path)).body, known);
	assert.ok(Date.parse(known.settingsKeptAt) > 0, `settings kept at ${known.settingsKeptAt}`);
	assert.equal(known.updates[0].reason, "HTTP 404");
	for (const targetId of [gone.sessionId, id])
		assert.equal((await later.request({ type: "boot_device", targetId })).code, "target_offline");
	await second.device(named);
	const back = await later.change("connected");
	assert.deepEqual([back.state, back.firmwareVersion], [gone.state, gone.firmwareVersion]);
	assert.notEqual(back.sessionId, gone.sessionId);
});

describe("/api/devices", () => {
	test("lists every device, and returns details of one", async (t) => {
		const { api, ...gateway } = await runGateway(t);
		const monitor = await gateway.monitor();
		await gateway.device(named);
		const { state, ...head } = await monitor.change("connected");
		const unreported = { rssi: null, ssid: null, volume: null };
		const listed = { ...head, chip: "esp32s3", firstSeenAt: head.connectedAt, ...unreported };
		assert.deepEqual((await api("GET", "/api/devices")).body, { devices: [listed] });
		const nothing = { settingsKeptAt: null, versions: [], resets: [], updates: [], crashes: [] };
		// Field of an extension.
		const { before: _, ...details } = (await api("GET", path)).body;
		assert.deepEqual(details, { ...listed, ...nothing, state });
		assert.equal((await api("GET", "/api/devices/unknown")).status, 404);
	});

	test("forgets a disconnected device, and sends monitors a new snapshot", async (t) => {
		const { api, ...gateway } = await runGateway(t, { limits: { snapshotDebounceMs: 10 } });
		const monitor = await gateway.monitor();
		const { device, session } = await gateway.namedDevice(monitor);
		const connected = await api("DELETE", path);
		assert.deepEqual([connected.status, /is connected/.test(connected.body.detail)], [409, true]);
		device.send({ type: "ota_error", reason: "x" });
		device.socket.close();
		await monitor.change("disconnected");
		assert.equal((await api("DELETE", path)).status, 204);
		const { sessions } = await monitor.until(({ reason }) => reason === "snapshot");
		assert.deepEqual(sessions, []);
		assert.equal((await api("DELETE", path)).status, 404);
		const { sessionId: targetId } = session;
		assert.equal((await monitor.request({ type: "boot_device", targetId })).code, "unknown_target");
		await gateway.gateway.close();
		for (const folder of ["devices", "updates"])
			assert.deepEqual(await readdir(join(gateway.dataDir, folder)), []);
	});

	test("returns 507 and keeps a device whose files cannot be removed", async (t) => {
		for (const folder of ["/devices/", "/updates/", "/crashes/"]) {
			const readOnly = failingDisk("rm", "EROFS", folder);
			readOnly.isFailing = false;
			const { api, ...gateway } = await runGateway(t, { disk: readOnly.disk });
			const monitor = await gateway.monitor();
			const { device } = await gateway.namedDevice(monitor);
			device.send({ type: "ota_error", reason: "x" });
			device.socket.close();
			await monitor.change("disconnected");
			readOnly.isFailing = true;
			const rejected = await api("DELETE", path);
			assert.deepEqual([rejected.status, /Removing .* failed/.test(rejected.body.detail)], [507, true]);
			assert.equal((await api("GET", path)).body.updates.length, 1);
			readOnly.isFailing = false;
			await gateway.gateway.close();
			const again = await runGateway(t, { dataDir: gateway.dataDir });
			assert.equal((await again.api("GET", path)).body.updates[0].reason, "x");
			assert.equal((await again.api("DELETE", path)).status, 204);
		}
	});
});

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
	bearer,
	deviceToken,
	type RunningGateway,
	reportWithVolume,
	runGateway,
	runWatched,
	runWithDevice,
} from "../../support/running.js";
import { sampleReport, withField } from "../../support/sample-report.js";

const id = "dev-1-a1b2c3";
const report = sampleReport("DEV-1");
const named = { "Device-Id": id, "Device-Model": "DEV-1", "Device-Chip": "esp32s3" };

describe("monitors receive", () => {
	test("session records with the documented fields", async (t) => {
		const now = Date.parse("2026-11-20T12:00:00.000Z");
		const { gateway, monitor } = await runWatched(t, { now: () => now });
		const device = await gateway.device(named);
		const connected = await monitor.change("connected");
		assert.match(connected.sessionId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
		const record = {
			sessionId: connected.sessionId,
			deviceId: "dev-1-a1b2c3",
			model: "DEV-1",
			connected: true,
			connectedAt: "2026-11-20T12:00:00.000Z",
			lastSeenAt: "2026-11-20T12:00:00.000Z",
			remoteAddress: "127.0.0.1",
			firmwareVersion: null,
			features: [],
			metadata: { otaStatus: "idle", otaPercent: null, otaVersion: null, otaReason: null },
			state: null,
		};
		assert.deepEqual(connected, record);
		device.send(report);
		const identified = await monitor.change("identified");
		assert.deepEqual(identified, { ...record, firmwareVersion: "1.2.3", state: report });
	});

	test("the id from the first report of a device without Device-Id", async (t) => {
		const { gateway, monitor } = await runWatched(t);
		const device = await gateway.device();
		const { deviceId, sessionId } = await monitor.change("connected");
		device.send({ type: "ota_complete" });
		assert.deepEqual([deviceId, (await monitor.next()).deviceId], [null, null]);
		device.send(report);
		const identified = await monitor.change("identified");
		assert.deepEqual([identified.deviceId, identified.sessionId], [id, sessionId]);
		assert.equal((await monitor.next()).deviceId, id);
	});

	test("`identified` for a new firmware version only", async (t) => {
		const { monitor, device } = await runWithDevice(t);
		device.send(report);
		device.send(withField(report, "system.firmware_version", "1.3.0"));
		const reasons = [];
		for (let count = 0; count < 3; count += 1) reasons.push((await monitor.next()).reason);
		assert.deepEqual(reasons, [undefined, undefined, "identified"]);
	});

	test("one notification of a disconnected device, which stays in the snapshot, and keeps its state in its next session", async (t) => {
		const { gateway, monitor, device, session } = await runWithDevice(t);
		device.socket.close();
		const gone = await monitor.change("disconnected");
		assert.deepEqual([gone.sessionId, gone.connected, gone.state], [session.sessionId, false, report]);
		assert.deepEqual((await gateway.monitor()).snapshot.sessions, [gone]);
		await gateway.device(named);
		const connected = await monitor.change("connected");
		assert.notEqual(connected.sessionId, session.sessionId);
		assert.deepEqual([connected.firmwareVersion, connected.state], ["1.2.3", report]);
		(await gateway.device()).socket.close();
		assert.equal((await monitor.change("disconnected")).deviceId, null);
		const { type, reason, sessions } = (await gateway.monitor()).snapshot;
		assert.deepEqual(
			[type, reason, sessions],
			["status_update", "snapshot", [connected]],
			"none unidentified",
		);
	});
});

test("at the limit, reported and labelled devices stay, and new ones are rejected", async (t) => {
	const { gateway, monitor } = await runWatched(t, { maxDevices: 3 });
	const { api } = gateway;
	const warnings = async () => (await api("GET", "/readyz")).body.warnings;
	const { device: reported } = await gateway.namedDevice(monitor);
	const labelled = await gateway.device({ "Device-Id": "labelled" });
	assert.equal((await api("PATCH", "/api/devices/labelled", { name: "Door" })).status, 200);
	for (const { socket } of [reported, labelled, await gateway.device({ "Device-Id": "neither" })]) {
		socket.close();
		await monitor.change("disconnected");
	}
	await gateway.device({ "Device-Id": "connected" });
	const { snapshot } = await gateway.monitor();
	const ids = snapshot.sessions.map(({ deviceId }) => deviceId);
	assert.deepEqual(ids.sort(), ["connected", report.deviceId, "labelled"].sort());
	const { status, body } = await gateway.rejected("/device", { ...bearer(deviceToken), "Device-Id": "new" });
	const { detail } = JSON.parse(body);
	assert.deepEqual([status, await warnings()], [507, [detail]]);
	const [rejection] = (await api("GET", "/api/rejections")).body.rejections;
	assert.deepEqual([rejection.deviceId, rejection.reason], ["new", detail]);
	const unnamed = await gateway.device();
	unnamed.send({ ...report, deviceId: "new" });
	assert.equal((await unnamed.closed).code, 1008);
	await gateway.device(named);
	assert.equal((await api("DELETE", "/api/devices/labelled")).status, 204);
	assert.equal(await warnings(), undefined);
	await gateway.device({ "Device-Id": "new" });
});

test("a duplicate connection, also by the id of its first report, closes the older session with 4001", async (t) => {
	const { gateway, monitor } = await runWatched(t);
	const older = await gateway.device(named);
	const { sessionId } = await monitor.change("connected");
	const newer = await gateway.device(named);
	assert.deepEqual(await older.closed, { code: 4001, reason: "replaced" });
	const replaced = await monitor.change("replaced");
	assert.deepEqual([replaced.sessionId, replaced.connected], [sessionId, false]);
	const connected = await monitor.change("connected");
	assert.notEqual(connected.sessionId, sessionId);
	assert.deepEqual((await gateway.monitor()).snapshot.sessions, [connected]);
	const unnamed = await gateway.device();
	unnamed.send(report);
	assert.equal((await newer.closed).code, 4001);
	assert.equal((await monitor.change("replaced")).sessionId, connected.sessionId);
	const identified = await monitor.change("identified");
	assert.deepEqual((await gateway.monitor()).snapshot.sessions, [identified]);
	unnamed.socket.close();
	assert.equal((await monitor.change("disconnected")).sessionId, identified.sessionId);
});

describe("two boards with one id", () => {
	const known = "02:00:00:a1:b2:c3";
	const another = "7c:df:a1:a1:b2:c3";
	const otherReport = withField(report, "system.mac_address", another.toUpperCase());
	const issuesOf = async ({ api }: RunningGateway) => {
		const { attention = [] } = (await api("GET", `/api/devices/${id}`)).body;
		return attention.filter(({ kind }: { kind: string }) => kind === "duplicate_id");
	};

	test("the known one stays: it is disconnected once, and the other one is rejected each time", async (t) => {
		let now = Date.now();
		const { gateway, monitor, device: first } = await runWithDevice(t, { now: () => now });
		const rejectOther = async () => {
			const other = await gateway.device(named);
			other.send(otherReport);
			assert.equal((await other.closed).code, 4002);
		};
		await rejectOther();
		assert.equal((await first.closed).code, 4001);
		const returned = await gateway.device(named);
		returned.send(report);
		await monitor.change("identified");
		await rejectOther();
		returned.send(reportWithVolume(7));
		await monitor.until(({ message }) => Object(message).type === "state_report");
		const { snapshot } = await gateway.monitor();
		assert.deepEqual(
			snapshot.sessions.map(({ connected, state }) => [connected, Object(state).system.mac_address]),
			[[true, known]],
		);
		const [issue] = await issuesOf(gateway);
		assert.match(issue.reason, new RegExp(`${known}.*${another}`));
		now += 5 * 60_000;
		assert.deepEqual(await issuesOf(gateway), []);
	});

	test("the other one is accepted once the known one is forgotten, also after a restart", async (t) => {
		const before = await runGateway(t);
		await before.namedDevice(await before.monitor());
		await before.gateway.close();
		const gateway = await runGateway(t, { dataDir: before.dataDir });
		const rejected = await gateway.device(named);
		rejected.send(otherReport);
		assert.equal((await rejected.closed).code, 4002);
		assert.equal((await issuesOf(gateway)).length, 1);
		assert.equal((await gateway.api("DELETE", `/api/devices/${id}`)).status, 204);
		const monitor = await gateway.monitor();
		const accepted = await gateway.device(named);
		accepted.send(otherReport);
		const { state } = await monitor.change("identified");
		assert.equal(Object(state).system.mac_address, another.toUpperCase());
		assert.deepEqual(await issuesOf(gateway), []);
	});
});

test("relays an uplink unchanged to every monitor, with unknown fields at any depth", async (t) => {
	const gateway = await runGateway(t);
	const monitors = [await gateway.monitor(), await gateway.monitor()];
	const device = await gateway.device(named);
	const depth = 25_000;
	const deep = `"__proto__":{"a":1},"x":${"[".repeat(depth)}${"]".repeat(depth)},`;
	const text = `  ${JSON.stringify(report).replace("{", `{${deep}`).replace('"volume":50', '"volume" :\t50.0')}\n`;
	device.send(text);
	for (const monitor of monitors) {
		const { sessionId } = await monitor.change("connected");
		await monitor.change("identified");
		const relayed = await monitor.nextText();
		const head = `{"type":"device_message","sessionId":"${sessionId}","deviceId":"${id}","message":`;
		assert.ok(relayed === `${head}${text}}`, relayed.slice(0, 300));
	}
	assert.equal((await gateway.monitor()).snapshot.sessions.length, 1);
});

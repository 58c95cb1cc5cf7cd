import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
	bearer,
	deviceToken,
	monitorToken,
	type RunningGateway,
	reportWithVolume,
	runGateway,
	temporaryDirectory,
} from "../../support/running.js";
import { sampleReport, withField } from "../../support/sample-report.js";

const report = sampleReport("DEV-1");
const named = { "Device-Id": "dev-1-a1b2c3", "Device-Model": "DEV-1", "Device-Chip": "esp32s3" };

describe("monitors receive", () => {
	test("session records with the documented fields", async (t) => {
		const now = Date.parse("2026-11-20T12:00:00.000Z");
		const gateway = await runGateway(t, { now: () => now });
		const monitor = await gateway.monitor();
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
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		const device = await gateway.device();
		const { deviceId, sessionId } = await monitor.change("connected");
		assert.equal(deviceId, null);
		device.send({ type: "ota_complete" });
		assert.equal((await monitor.next()).deviceId, null);
		device.send(report);
		const identified = await monitor.change("identified");
		assert.equal(identified.deviceId, "dev-1-a1b2c3");
		assert.equal(identified.sessionId, sessionId);
		assert.equal((await monitor.next()).deviceId, "dev-1-a1b2c3");
	});

	test("`identified` for a new firmware version only", async (t) => {
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		const { device } = await gateway.namedDevice(monitor);
		device.send(report);
		device.send(withField(report, "system.firmware_version", "1.3.0"));
		const types = [];
		for (let frame = await monitor.next(); frame.type !== "status_update"; frame = await monitor.next())
			types.push(frame.type);
		assert.deepEqual(types, ["device_message", "device_message"]);
	});

	test("one notification of a disconnected device, which stays in the snapshot, and keeps its state in its next session", async (t) => {
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		const { device, session } = await gateway.namedDevice(monitor);
		device.socket.close();
		const gone = await monitor.change("disconnected");
		assert.deepEqual([gone.sessionId, gone.connected, gone.state], [session.sessionId, false, report]);
		assert.deepEqual((await gateway.monitor()).snapshot.sessions, [gone]);
		await gateway.device(named);
		const connected = await monitor.change("connected");
		assert.notEqual(connected.sessionId, session.sessionId);
		assert.deepEqual([connected.firmwareVersion, connected.state], ["1.2.3", report]);
		const { snapshot } = await gateway.monitor();
		assert.deepEqual(
			[snapshot.type, snapshot.reason, snapshot.sessions],
			["status_update", "snapshot", [connected]],
		);
	});

	test("no ended session that was never identified", async (t) => {
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		const device = await gateway.device();
		device.socket.close();
		assert.equal((await monitor.change("disconnected")).deviceId, null);
		assert.deepEqual((await gateway.monitor()).snapshot.sessions, []);
	});
});

test("at the limit, reported and labelled devices stay, and new ones are rejected", async (t) => {
	const gateway = await runGateway(t, { maxDevices: 3 });
	const monitor = await gateway.monitor();
	const call = (path: string, init: RequestInit = {}) =>
		fetch(`${gateway.url}${path}`, {
			headers: { ...bearer(monitorToken), "Content-Type": "application/json" },
			...init,
		});
	const warnings = async () => JSON.parse(await (await call("/readyz")).text()).warnings;
	const { device: reported } = await gateway.namedDevice(monitor);
	const labelled = await gateway.device({ "Device-Id": "labelled" });
	const label = { method: "PATCH", body: JSON.stringify({ name: "Door" }) };
	assert.equal((await call("/api/devices/labelled", label)).status, 200);
	for (const { socket } of [reported, labelled, await gateway.device({ "Device-Id": "neither" })]) {
		socket.close();
		await monitor.change("disconnected");
	}
	await gateway.device({ "Device-Id": "connected" });
	const { snapshot } = await gateway.monitor();
	const ids = snapshot.sessions.map(({ deviceId }) => deviceId);
	assert.deepEqual(ids.sort(), ["connected", report.deviceId, "labelled"].sort());
	const { status, body } = await gateway.refused("/device", { ...bearer(deviceToken), "Device-Id": "new" });
	const { detail } = JSON.parse(body);
	assert.deepEqual([status, await warnings()], [507, [detail]]);
	const { refusals } = JSON.parse(await (await call("/api/refusals")).text());
	assert.deepEqual([refusals[0].deviceId, refusals[0].reason], ["new", detail]);
	const unnamed = await gateway.device();
	unnamed.send({ ...report, deviceId: "new" });
	assert.equal((await unnamed.closed).code, 1008);
	await gateway.device(named);
	assert.equal((await call("/api/devices/labelled", { method: "DELETE" })).status, 204);
	assert.equal(await warnings(), undefined);
	await gateway.device({ "Device-Id": "new" });
});

describe("duplicate connection", () => {
	test("closes the older session with 4001 and announces it as replaced", async (t) => {
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		const older = await gateway.device(named);
		const { sessionId } = await monitor.change("connected");
		const newer = await gateway.device(named);
		assert.deepEqual(await older.closed, { code: 4001, reason: "replaced" });
		const replaced = await monitor.change("replaced");
		assert.deepEqual([replaced.sessionId, replaced.connected], [sessionId, false]);
		const connected = await monitor.change("connected");
		assert.notEqual(connected.sessionId, sessionId);
		assert.deepEqual((await gateway.monitor()).snapshot.sessions, [connected]);
		newer.socket.close();
		const { reason, sessions } = await monitor.next();
		assert.deepEqual([reason, sessions[0]?.sessionId], ["disconnected", connected.sessionId]);
	});

	test("is detected also by the id of the first report", async (t) => {
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		const { device: older } = await gateway.namedDevice(monitor);
		const newer = await gateway.device();
		newer.send(report);
		assert.equal((await older.closed).code, 4001);
		await monitor.change("replaced");
		assert.equal((await monitor.change("identified")).deviceId, "dev-1-a1b2c3");
		assert.equal((await gateway.monitor()).snapshot.sessions.length, 1);
	});
});

describe("two boards with one id", () => {
	const id = "dev-1-a1b2c3";
	const known = "02:00:00:a1:b2:c3";
	const another = "7c:df:a1:a1:b2:c3";
	const otherReport = withField(report, "system.mac_address", another.toUpperCase());
	const issuesOf = async ({ url }: RunningGateway) => {
		const response = await fetch(`${url}/api/devices/${id}`, { headers: bearer(monitorToken) });
		const { attention = [] } = JSON.parse(await response.text());
		return attention.filter(({ kind }: { kind: string }) => kind === "duplicate_id");
	};

	test("the known one stays: it is disconnected once, and the other one is rejected each time", async (t) => {
		let now = Date.now();
		const gateway = await runGateway(t, { now: () => now });
		const monitor = await gateway.monitor();
		const { device: first } = await gateway.namedDevice(monitor);
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
		const dataDir = await temporaryDirectory(t);
		const before = await runGateway(t, { dataDir });
		await before.namedDevice(await before.monitor());
		await before.gateway.close();
		const gateway = await runGateway(t, { dataDir });
		const rejected = await gateway.device(named);
		rejected.send(otherReport);
		assert.equal((await rejected.closed).code, 4002);
		assert.equal((await issuesOf(gateway)).length, 1);
		const response = await fetch(`${gateway.url}/api/devices/${id}`, {
			method: "DELETE",
			headers: bearer(monitorToken),
		});
		assert.equal(response.status, 204);
		const monitor = await gateway.monitor();
		const accepted = await gateway.device(named);
		accepted.send(otherReport);
		const { state } = await monitor.change("identified");
		assert.equal(Object(state).system.mac_address, another.toUpperCase());
		assert.deepEqual(await issuesOf(gateway), []);
	});
});

describe("relay", () => {
	test("sends an uplink unchanged to every monitor", async (t) => {
		const gateway = await runGateway(t);
		const monitors = [await gateway.monitor(), await gateway.monitor()];
		const device = await gateway.device(named);
		const text = `  ${JSON.stringify(report).replace('"volume":50', '"volume" :\t50.0')}\n`;
		device.send(text);
		for (const monitor of monitors) {
			const { sessionId } = await monitor.change("connected");
			await monitor.change("identified");
			const relayed = await monitor.nextText();
			assert.equal(
				relayed,
				`{"type":"device_message","sessionId":"${sessionId}","deviceId":"dev-1-a1b2c3","message":${text}}`,
			);
		}
	});

	test("passes unknown fields at any depth", async (t) => {
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		const device = await gateway.device(named);
		const depth = 25_000;
		const nested = JSON.stringify(report).replace(
			"{",
			`{"__proto__":{"a":1},"x":${"[".repeat(depth)}${"]".repeat(depth)},`,
		);
		device.send(nested);
		await monitor.change("connected");
		await monitor.change("identified");
		assert.equal((await monitor.nextText()).split('"message":')[1], `${nested}}`);
		const { snapshot } = await gateway.monitor();
		assert.equal(snapshot.sessions.length, 1);
	});
});

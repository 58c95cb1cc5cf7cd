import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { runGateway, runWatched, runWithDevice } from "../../support/running.js";
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
		assert.deepEqual([type, reason, sessions], ["status_update", "snapshot", [connected]]);
	});
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

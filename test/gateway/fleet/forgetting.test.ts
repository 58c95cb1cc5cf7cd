/** Tests of devices that are forgotten, or replaced by another board with the same id. */

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

import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { describe, type TestContext, test } from "node:test";
import type { Crash } from "../../../device/protocol/messages.js";
import { createYield } from "../../../gateway/event-loop.js";
import { Events } from "../../../gateway/events.js";
import type { UpdateJob } from "../../../gateway/firmware/update-job.js";
import { Issues, type SeenMarks, seenFile } from "../../../gateway/fleet/issues.js";
import { Sessions } from "../../../gateway/sessions/sessions.js";
import { isoTime } from "../../../gateway/sessions/view.js";
import type { Disk } from "../../../gateway/storage/atomic-file.js";
import { fileRecords } from "../../../gateway/storage/file-records.js";
import { waitUntil } from "../../support/eventually.js";
import { MonitorView } from "../../support/monitor-view.js";
import {
	bearer,
	monitorToken,
	type RunningGateway,
	runGateway,
	temporaryDirectory,
} from "../../support/running.js";
import { type Json, sampleReport, withField } from "../../support/sample-report.js";
import { ScriptedDevice } from "../../support/scripted-device.js";

const deviceId = "dev-1-a1b2c3";
const minute = 60_000;
const link = { send: () => {}, isOpen: () => true, close: () => {} };

async function fleet(t: TestContext) {
	const clock = { now: 100 * minute };
	const now = () => clock.now;
	const events = new Events();
	const sessions = new Sessions({ events, now, monotonic: now, maxDevices: 10 });
	const jobs: UpdateJob[] = [];
	const directory = await temporaryDirectory(t);
	const records = fileRecords<SeenMarks>({ ...seenFile, directory, disk: fs, onProblem: () => {} });
	const updates = { historyOf: () => jobs };
	const issues = new Issues({
		core: { events, sessions, now, yieldToLoop: createYield(), firmware: { updates } },
		crashes: { headsOf: () => [] },
		records,
	});
	events.on(issues.listeners);
	const connect = () => {
		const handshake = { deviceId, isBound: false, model: "DEV-1", chip: undefined } as const;
		return sessions.open({ ...handshake, features: [], remoteAddress: "10.0.0.1", baseUrl: "" }, link);
	};
	const device = () => {
		const found = sessions.devices.get(deviceId);
		assert.ok(found, `${deviceId} is unknown`);
		return found;
	};
	const report = (fields: Readonly<Record<string, Json>>) => {
		const timestamp = isoTime(clock.now);
		let text: { [name: string]: Json } = { ...sampleReport("DEV-1"), deviceId, timestamp };
		for (const [path, value] of Object.entries(fields)) text = withField(text, path, value);
		const uplink = Object(text);
		sessions.receive(device().session, uplink, Buffer.from(JSON.stringify(text)));
	};
	const shown = () => (issues.of(device()).attention ?? []).map(({ kind, seen }) => [kind, seen]);
	/** Dismisses all shown issues. */
	const seeAll = () =>
		issues.see(
			(issues.of(device()).attention ?? []).map(({ kind, since }) => {
				return { kind, id: deviceId, ...(since !== null && { since }) };
			}),
		);
	return { clock, sessions, jobs, issues, connect, device, report, shown, seeAll };
}

describe("issue", () => {
	test("is an offline device; once dismissed, only when it disconnects again", async (t) => {
		const { clock, sessions, connect, issues, device, shown, seeAll } = await fleet(t);
		const first = connect();
		assert.deepEqual(shown(), []);
		sessions.end(first, "disconnected");
		assert.equal(issues.of(device()).attention?.[0]?.since, isoTime(clock.now));
		assert.deepEqual(shown(), [["away", false]]);
		clock.now += minute;
		await seeAll();
		assert.deepEqual(shown(), [["away", true]]);
		clock.now += minute;
		const second = connect();
		assert.deepEqual(shown(), []);
		sessions.end(second, "disconnected");
		assert.deepEqual(shown(), [["away", false]]);
	});

	test("is a weak signal, with its start", async (t) => {
		const { clock, connect, report, issues, device, shown, seeAll } = await fleet(t);
		connect();
		report({ "network.wifi_rssi": -60 });
		assert.deepEqual(shown(), []);
		report({ "network.wifi_rssi": -85 });
		const since = isoTime(clock.now);
		clock.now += minute;
		report({ "network.wifi_rssi": -84 });
		assert.equal(issues.of(device()).attention?.[0]?.since, since);
		await seeAll();
		report({ "network.wifi_rssi": -95 });
		assert.deepEqual(shown(), [["weak_signal", true]]);
		report({ "network.wifi_rssi": -60 });
		clock.now += minute;
		report({ "network.wifi_rssi": -85 });
		assert.deepEqual(shown(), [["weak_signal", false]]);
	});

	test("is a faulty part or clock, but no light sensor, which may be in the dark", async (t) => {
		const { clock, sessions, connect, report, issues, device, shown, seeAll } = await fleet(t);
		const session = connect();
		report({ "peripherals.ambient_light_fault": "It may be dark." });
		assert.deepEqual(shown(), []);
		const fault = "The codec does not answer.";
		report({ "peripherals.audio.fault": fault, "peripherals.ambient_light_fault": "It may be dark." });
		const since = isoTime(clock.now);
		clock.now += minute;
		report({ "peripherals.audio.fault": fault });
		assert.deepEqual(issues.of(device()).attention, [{ kind: "faulty", since, seen: false, reason: fault }]);
		await seeAll();
		assert.deepEqual(shown(), [["faulty", true]]);
		clock.now += minute;
		report({ "peripherals.touch_fault": "The touch pad measures nothing." });
		assert.deepEqual(shown(), [["faulty", false]], "another part");
		report({});
		assert.deepEqual(shown(), []);
		for (const [aheadMs, where] of [
			[61_000, "ahead of"],
			[-61_000, "behind"],
		] as const) {
			report({ timestamp: isoTime(clock.now + aheadMs) });
			const [{ kind, reason } = {}] = issues.of(device()).attention ?? [];
			assert.equal(kind, "faulty");
			assert.match(reason ?? "", new RegExp(`clock is more than a minute ${where} the gateway's`));
			report({ timestamp: isoTime(clock.now + Math.sign(aheadMs) * minute) });
			assert.deepEqual(shown(), [], "up to a minute");
		}
		report({ "health.clock_ahead_seconds": 100_000 });
		assert.match(issues.of(device()).attention?.[0]?.reason ?? "", /clock was more than a day ahead/);
		report({ "peripherals.audio.fault": fault });
		sessions.end(session, "disconnected");
		assert.deepEqual(shown(), [["away", false]]);
	});

	test("is a device with three unrequested restarts a day; the next restart reopens it", async (t) => {
		const { clock, device, issues, connect, shown, seeAll } = await fleet(t);
		connect();
		const restart = (reason: string) => {
			clock.now += minute;
			device().resets = [...device().resets, { reason, at: clock.now }];
		};
		for (const reason of ["PANIC_RESET", "SW_RESET", "SW_RESET", "POWERON_RESET"]) restart(reason);
		assert.deepEqual(shown(), []);
		restart("BROWNOUT_RESET");
		const [item] = issues.of(device()).attention ?? [];
		assert.deepEqual([item?.kind, item?.count, item?.reason], ["often_restarted", 3, "BROWNOUT_RESET"]);
		await seeAll();
		assert.deepEqual(shown(), [["often_restarted", true]]);
		restart("POWERON_RESET");
		assert.deepEqual(shown(), [["often_restarted", false]]);
		clock.now += 24 * 60 * minute;
		assert.deepEqual(shown(), []);
	});

	for (const [status, kind] of [
		["rolled_back", "rolled_back"],
		["failed", "update_failed"],
	] as const)
		test(`is an update with the result ${status}, until another one starts`, async (t) => {
			const { clock, jobs, sessions, connect, device, issues, shown, seeAll } = await fleet(t);
			connect();
			jobs.push({ status, startedAt: clock.now, endedAt: clock.now });
			const metadata = {
				otaStatus: status,
				otaPercent: null,
				otaVersion: null,
				otaReason: null,
			} as const;
			sessions.setOta(device(), metadata);
			assert.deepEqual(shown(), [[kind, false]]);
			assert.equal(issues.of(device()).attention?.[0]?.since, isoTime(clock.now));
			await seeAll();
			assert.deepEqual(shown(), [[kind, true]]);
			sessions.setOta(device(), { ...metadata, otaStatus: "pending" });
			assert.deepEqual(shown(), []);
		});

	test("is safe mode, with its start, besides another condition", async (t) => {
		const { clock, connect, report, issues, device, shown, seeAll } = await fleet(t);
		connect();
		report({ "health.safe_mode": true });
		const since = isoTime(clock.now);
		await seeAll();
		clock.now += minute;
		report({ "health.safe_mode": true, "network.wifi_rssi": -85 });
		assert.deepEqual(issues.of(device()).attention, [
			{ kind: "safe_mode", since, seen: true },
			{ kind: "weak_signal", since: isoTime(clock.now), seen: false },
		]);
		report({});
		assert.deepEqual(shown(), []);
	});

	test("is reopened after a dismissal with a clock that was ahead", async (t) => {
		const { clock, sessions, connect, issues, device, shown, seeAll } = await fleet(t);
		const days = 3 * 24 * 60 * minute;
		clock.now += days;
		sessions.end(connect(), "disconnected");
		device().resets = [1, 2, 3].map((at) => ({ reason: "PANIC_RESET", at: clock.now - at }));
		await seeAll();
		assert.deepEqual(shown(), [
			["often_restarted", true],
			["away", true],
		]);
		clock.now -= days;
		assert.deepEqual(shown(), [["away", false]]);
		assert.equal(issues.of(device()).attention?.[0]?.since, null);
		await seeAll();
		assert.deepEqual(shown(), [["away", true]]);
		clock.now += minute;
		sessions.end(connect(), "disconnected");
		assert.deepEqual(shown(), [["away", false]]);
		assert.equal(issues.of(device()).attention?.[0]?.since, isoTime(clock.now));
	});

	test("is not dismissed if it occurred after the page was loaded", async (t) => {
		const { clock, sessions, connect, issues, shown } = await fleet(t);
		sessions.end(connect(), "disconnected");
		const since = isoTime(clock.now);
		clock.now += minute;
		sessions.end(connect(), "disconnected");
		await issues.see([
			{ kind: "away", id: deviceId, since },
			// The page did not know since when.
			{ kind: "away", id: deviceId },
		]);
		assert.deepEqual(shown(), [["away", false]]);
		await issues.see([{ kind: "away", id: "unknown", since }]);
	});
});

const crash = (id: string): Crash => ({
	id,
	kind: "exception",
	message: "TypeError: no volume",
	stack: "",
	firmware_version: "1.2.3",
	uptime_seconds: 61,
	trace: "",
});

const post = ({ url }: Pick<RunningGateway, "url">, items: readonly object[]) =>
	fetch(`${url}/api/attention/seen`, {
		method: "POST",
		headers: bearer(monitorToken),
		body: JSON.stringify({ items }),
	});

test("keeps a crash dismissed across a restart until the next one", async (t) => {
	const dataDir = await temporaryDirectory(t);
	const watch = async (gateway: RunningGateway) => {
		const client = await gateway.open("/monitor", { headers: bearer(monitorToken) });
		client.send({ type: "subscribe", summary: true });
		const picture = new MonitorView(client);
		const crashOf = () => {
			const { attention } = Object(picture.devices.get(deviceId));
			return Array.isArray(attention) ? attention.find(({ kind }) => kind === "crashed") : undefined;
		};
		const until = async (seen: boolean) => {
			await waitUntil(
				() => crashOf()?.seen === seen,
				() => picture.until(() => true),
			);
			return crashOf();
		};
		return { until };
	};
	const limits = { summaryPauseMs: 10 };
	const first = await runGateway(t, { dataDir, limits });
	const { until } = await watch(first);
	const device = await new ScriptedDevice({ url: first.url, deviceId, crash: crash("c1") }).connect();
	const { since, count, reason } = await until(false);
	assert.deepEqual([count, reason], [1, "exception"]);
	assert.equal((await post(first, [{ kind: "crashed", id: deviceId, since }])).status, 204);
	await until(true);
	device.close();
	await first.gateway.close();

	const second = await runGateway(t, { dataDir, limits });
	const later = await watch(second);
	await later.until(true);
	const again = await new ScriptedDevice({ url: second.url, deviceId, crash: crash("c2") }).connect();
	t.after(() => again.close());
	assert.equal((await later.until(false)).count, 2);
});

test("keeps a rejection dismissed until it is repeated", async (t) => {
	const gateway = await runGateway(t);
	const refuse = () => gateway.refused("/device", { "Device-Id": deviceId, Authorization: "Bearer x" });
	const list = async () => {
		const response = await fetch(`${gateway.url}/api/refusals`, { headers: bearer(monitorToken) });
		return JSON.parse(await response.text()).refusals[0];
	};
	await refuse();
	const { id, lastAt, seen } = await list();
	assert.equal(seen, false);
	assert.equal((await post(gateway, [{ kind: "refused", id, since: lastAt }])).status, 204);
	assert.equal((await list()).seen, true);
	await refuse();
	assert.equal((await list()).seen, false);
	const wrong = await post(gateway, [{ kind: "lost", id }]);
	assert.equal(wrong.status, 422);
	assert.match(await wrong.text(), /items\.0\.kind must be one of/);
});

test("reports dismissals on a full disk as stored later", async (t) => {
	let isFull = false;
	const full = () => Promise.reject(Object.assign(new Error("no space"), { code: "ENOSPC" }));
	const open: Disk["open"] = (path, ...words) =>
		isFull && String(path).includes("seen") ? full() : fs.open(path, ...words);
	const gateway = await runGateway(t, { disk: { ...fs, open } });
	const monitor = await gateway.monitor();
	const { device } = await gateway.namedDevice(monitor);
	device.socket.close();
	const { lastSeenAt: since } = await monitor.change("disconnected");
	isFull = true;
	assert.equal((await post(gateway, [{ kind: "away", id: deviceId, since }])).status, 507);
	isFull = false;
});

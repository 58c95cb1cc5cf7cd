import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { describe, type TestContext, test } from "node:test";
import { noUpdate } from "../../../gateway/api/update.js";
import { createYield } from "../../../gateway/event-loop.js";
import type { UpdateJob } from "../../../gateway/firmware/update-job.js";
import { Issues } from "../../../gateway/fleet/issues.js";
import { isoTime } from "../../../gateway/sessions/view.js";
import { fileRecords } from "../../../gateway/storage/file-records.js";
import type { OpenRecords } from "../../../gateway/storage/records.js";
import { failingDisk } from "../../support/disk.js";
import { waitUntil } from "../../support/eventually.js";
import { MonitorView } from "../../support/monitor-view.js";
import { makeSessions } from "../../support/record-stubs.js";
import { type RunningGateway, runGateway, runWatched, temporaryDirectory } from "../../support/running.js";
import { type Json, sampleReport, withFields } from "../../support/sample-report.js";
import { ScriptedDevice } from "../../support/scripted-device.js";
import { crashOf } from "./crashed.js";

const deviceId = "dev-1-a1b2c3";
const minute = 60_000;

async function fleet(t: TestContext) {
	const clock = { now: 100 * minute };
	const now = () => clock.now;
	const { events, sessions, open } = makeSessions({ now, monotonic: now });
	const jobs: UpdateJob[] = [];
	const directory = await temporaryDirectory(t);
	const records: OpenRecords = (kind) => fileRecords({ ...kind, directory, disk: fs, onProblem: () => {} });
	const updates = { historyOf: () => jobs };
	const issues = new Issues({
		core: { records, events, sessions, now, yieldToLoop: createYield(), firmware: { updates } },
		crashes: { headsOf: () => [] },
	});
	events.on(issues.listeners);
	const connect = () => open(deviceId, { model: "DEV-1" });
	/** Disconnects, after a new connection unless connected. */
	const leave = (session = connect()) => sessions.end(session, "disconnected");
	const device = () => sessions.devices.get(deviceId) ?? assert.fail(`${deviceId} is unknown`);
	const report = (fields: Readonly<Record<string, Json>>) => {
		const timestamp = isoTime(clock.now);
		const message = withFields({ ...sampleReport("DEV-1"), deviceId, timestamp }, fields);
		sessions.receive(device().session, Object(message), Buffer.from(JSON.stringify(message)));
	};
	const found = () => issues.of(device()).attention ?? [];
	const shown = () => found().map(({ kind, seen }) => `${kind}${seen ? ", seen" : ""}`);
	/** Dismisses all shown issues. */
	const seeAll = () =>
		issues.see(found().map(({ kind, since }) => ({ kind, id: deviceId, ...(since !== null && { since }) })));
	return { clock, sessions, jobs, issues, connect, leave, device, report, found, shown, seeAll };
}

describe("issue", () => {
	test("is an offline device; once dismissed, only when it disconnects again", async (t) => {
		const { clock, connect, leave, found, shown, seeAll } = await fleet(t);
		const first = connect();
		assert.deepEqual(shown(), []);
		leave(first);
		assert.equal(found()[0]?.since, isoTime(clock.now));
		assert.deepEqual(shown(), ["away"]);
		clock.now += minute;
		await seeAll();
		assert.deepEqual(shown(), ["away, seen"]);
		clock.now += minute;
		const second = connect();
		assert.deepEqual(shown(), []);
		leave(second);
		assert.deepEqual(shown(), ["away"]);
	});

	test("is a weak signal, with its start", async (t) => {
		const { clock, connect, report, found, shown, seeAll } = await fleet(t);
		connect();
		const signal = (rssi: number) => report({ "network.wifi_rssi": rssi });
		signal(-60);
		assert.deepEqual(shown(), []);
		signal(-85);
		const since = isoTime(clock.now);
		clock.now += minute;
		signal(-84);
		assert.equal(found()[0]?.since, since);
		await seeAll();
		signal(-95);
		assert.deepEqual(shown(), ["weak_signal, seen"]);
		signal(-60);
		clock.now += minute;
		signal(-85);
		assert.deepEqual(shown(), ["weak_signal"]);
	});

	test("is a faulty part or clock, but no light sensor, which may be in the dark", async (t) => {
		const { clock, connect, leave, report, found, shown, seeAll } = await fleet(t);
		const session = connect();
		report({ "peripherals.ambient_light_fault": "It may be dark." });
		assert.deepEqual(shown(), []);
		const fault = "The codec does not answer.";
		report({ "peripherals.audio.fault": fault, "peripherals.ambient_light_fault": "It may be dark." });
		const since = isoTime(clock.now);
		clock.now += minute;
		report({ "peripherals.audio.fault": fault });
		assert.deepEqual(found(), [{ kind: "faulty", since, seen: false, reason: fault }]);
		await seeAll();
		assert.deepEqual(shown(), ["faulty, seen"]);
		clock.now += minute;
		report({ "peripherals.touch_fault": "The touch pad measures nothing." });
		assert.deepEqual(shown(), ["faulty"], "another part");
		report({});
		assert.deepEqual(shown(), []);
		for (const [aheadMs, where] of [
			[61_000, "ahead of"],
			[-61_000, "behind"],
		] as const) {
			report({ timestamp: isoTime(clock.now + aheadMs) });
			const [{ kind, reason } = {}] = found();
			assert.equal(kind, "faulty");
			assert.match(reason ?? "", new RegExp(`clock is more than a minute ${where} the gateway's`));
			report({ timestamp: isoTime(clock.now + Math.sign(aheadMs) * minute) });
			assert.deepEqual(shown(), [], "up to a minute");
		}
		report({ "health.clock_ahead_seconds": 100_000 });
		assert.match(found()[0]?.reason ?? "", /clock was more than a day ahead/);
		report({ "peripherals.audio.fault": fault });
		leave(session);
		assert.deepEqual(shown(), ["away"]);
	});

	test("is a device with three unrequested restarts a day; the next restart reopens it", async (t) => {
		const { clock, device, connect, found, shown, seeAll } = await fleet(t);
		connect();
		const restart = (reason: string) => {
			clock.now += minute;
			device().resets = [...device().resets, { reason, at: clock.now }];
		};
		for (const reason of ["PANIC_RESET", "SW_RESET", "SW_RESET", "POWERON_RESET"]) restart(reason);
		assert.deepEqual(shown(), []);
		restart("BROWNOUT_RESET");
		const [item] = found();
		assert.deepEqual([item?.kind, item?.count, item?.reason], ["often_restarted", 3, "BROWNOUT_RESET"]);
		await seeAll();
		assert.deepEqual(shown(), ["often_restarted, seen"]);
		restart("POWERON_RESET");
		assert.deepEqual(shown(), ["often_restarted"]);
		clock.now += 24 * 60 * minute;
		assert.deepEqual(shown(), []);
	});

	for (const status of ["rolled_back", "failed"] as const)
		test(`is an update with the result ${status}, until another one starts`, async (t) => {
			const { clock, jobs, sessions, connect, device, found, shown, seeAll } = await fleet(t);
			connect();
			const kind = status === "failed" ? "update_failed" : status;
			jobs.push({ status, startedAt: clock.now, endedAt: clock.now });
			sessions.setOta(device(), { ...noUpdate, otaStatus: status });
			assert.deepEqual(shown(), [kind]);
			assert.equal(found()[0]?.since, isoTime(clock.now));
			await seeAll();
			assert.deepEqual(shown(), [`${kind}, seen`]);
			sessions.setOta(device(), { ...noUpdate, otaStatus: "pending" });
			assert.deepEqual(shown(), []);
		});

	test("is safe mode, with its start, besides another condition", async (t) => {
		const { clock, connect, report, found, shown, seeAll } = await fleet(t);
		connect();
		report({ "health.safe_mode": true });
		const since = isoTime(clock.now);
		await seeAll();
		clock.now += minute;
		report({ "health.safe_mode": true, "network.wifi_rssi": -85 });
		assert.deepEqual(found(), [
			{ kind: "safe_mode", since, seen: true },
			{ kind: "weak_signal", since: isoTime(clock.now), seen: false },
		]);
		report({});
		assert.deepEqual(shown(), []);
	});

	test("is reopened after a dismissal with a clock that was ahead", async (t) => {
		const { clock, leave, found, device, shown, seeAll } = await fleet(t);
		const days = 3 * 24 * 60 * minute;
		clock.now += days;
		leave();
		device().resets = [1, 2, 3].map((at) => ({ reason: "PANIC_RESET", at: clock.now - at }));
		await seeAll();
		assert.deepEqual(shown(), ["often_restarted, seen", "away, seen"]);
		clock.now -= days;
		assert.deepEqual(shown(), ["away"]);
		assert.equal(found()[0]?.since, null);
		await seeAll();
		assert.deepEqual(shown(), ["away, seen"]);
		clock.now += minute;
		leave();
		assert.deepEqual(shown(), ["away"]);
		assert.equal(found()[0]?.since, isoTime(clock.now));
	});

	test("is not dismissed if it occurred after the page was loaded", async (t) => {
		const { clock, leave, issues, shown } = await fleet(t);
		leave();
		const since = isoTime(clock.now);
		clock.now += minute;
		leave();
		await issues.see([
			{ kind: "away", id: deviceId, since },
			// The page did not know since when.
			{ kind: "away", id: deviceId },
		]);
		assert.deepEqual(shown(), ["away"]);
		await issues.see([{ kind: "away", id: "unknown", since }]);
	});
});

/** Crash of the running version. */
const crash = (id: string) => crashOf(id, { firmware_version: "1.2.3" });
const see = ({ api }: RunningGateway, item: object) => api("POST", "/api/issues/seen", { items: [item] });

test("keeps a crash dismissed across a restart until the next one", async (t) => {
	const watch = async (gateway: RunningGateway) => {
		const client = await gateway.monitor();
		client.send({ type: "subscribe", summary: true });
		const picture = new MonitorView(client);
		return async (isSeen: boolean) => {
			const crashed = () => {
				const { attention = [] } = Object(picture.devices.get(deviceId));
				return attention.find(({ kind, seen }: { kind: string; seen: boolean }) => {
					return kind === "crashed" && seen === isSeen;
				});
			};
			await waitUntil(crashed, () => client.until(() => true));
			return crashed();
		};
	};
	const limits = { summaryPauseMs: 10 };
	const first = await runGateway(t, { limits });
	const until = await watch(first);
	const device = await new ScriptedDevice({ url: first.url, deviceId, crash: crash("c1") }).connect();
	const { since, count, reason } = await until(false);
	assert.deepEqual([count, reason], [1, "exception"]);
	assert.equal((await see(first, { kind: "crashed", id: deviceId, since })).status, 204);
	await until(true);
	device.close();
	await first.gateway.close();

	const second = await runGateway(t, { dataDir: first.dataDir, limits });
	const later = await watch(second);
	await later(true);
	const _again = await ScriptedDevice.join(t, { url: second.url, deviceId, crash: crash("c2") });
	assert.equal((await later(false)).count, 2);
});

test("keeps a rejection dismissed until it is repeated", async (t) => {
	const gateway = await runGateway(t);
	const reject = () => gateway.rejected("/device", { "Device-Id": deviceId, Authorization: "Bearer x" });
	const list = async () => (await gateway.api("GET", "/api/rejections")).body.rejections[0];
	await reject();
	const { id, lastAt, seen } = await list();
	assert.equal(seen, false);
	assert.equal((await see(gateway, { kind: "rejected", id, since: lastAt })).status, 204);
	assert.equal((await list()).seen, true);
	await reject();
	assert.equal((await list()).seen, false);
	const wrong = await see(gateway, { kind: "lost", id });
	assert.equal(wrong.status, 422);
	assert.match(wrong.text, /items\.0\.kind must be one of/);
});

test("reports dismissals on a full disk as stored later", async (t) => {
	const full = failingDisk("create", "ENOSPC", "seen");
	const { gateway, monitor } = await runWatched(t, { disk: full.disk });
	(await gateway.namedDevice(monitor)).device.socket.close();
	const { lastSeenAt: since } = await monitor.change("disconnected");
	assert.equal((await see(gateway, { kind: "away", id: deviceId, since })).status, 507);
	full.isFailing = false;
});

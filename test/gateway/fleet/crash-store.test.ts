import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Registry } from "prom-client";
import type { Crash } from "../../../device/protocol/messages.js";
import { noUpdate } from "../../../gateway/api/update.js";
import { Events } from "../../../gateway/events.js";
import { signatureOf } from "../../../gateway/fleet/crash-signature.js";
import { CrashCounter } from "../../../gateway/fleet/crash-store.js";
import { createMetrics } from "../../../gateway/telemetry/metrics.js";
import { failingDisk } from "../../support/disk.js";
import { waitUntil } from "../../support/eventually.js";
import { makeSessions } from "../../support/record-stubs.js";
import {
	type Client,
	noRateLimits,
	type RunningGateway,
	runGateway,
	runWatched,
} from "../../support/running.js";
import { sampleReport, withField } from "../../support/sample-report.js";
import { crashOf } from "./crashed.js";

const deviceId = "dev-1-a1b2c3";
const path = `/api/devices/${deviceId}`;
const report = withField({ ...sampleReport("DEV-1"), deviceId }, "system.firmware_version", "1.4.0");
const query = { type: "control_device", targetId: deviceId, payload: { command: "query_state" } };

function fileOf({ dataDir }: RunningGateway): string {
	return join(dataDir, "crashes", `${deviceId}.json`);
}

/** Connected device with `features` that never responds by itself. */
async function connect(gateway: RunningGateway, features = "crash"): Promise<Client> {
	const device = await gateway.device({ "Device-Id": deviceId, "Device-Features": features });
	device.send(report);
	return device;
}

/** Responds to the gateway's request. @returns the next command of the gateway */
async function reportCrash(device: Client, crash: Crash) {
	assert.equal((await device.next()).command, "query_crash");
	device.send({ type: "crash_report", deviceId, crash });
	return device.next();
}

async function details({ api }: RunningGateway) {
	const { crashCount, crashes } = (await api("GET", path)).body;
	return { crashCount, crashes, ids: crashes.map(({ id }: Crash) => id) };
}

async function metrics(gateway: RunningGateway): Promise<readonly string[]> {
	return (await gateway.metrics()).split("\n").filter((line) => /^gateway_crashes_total.* [1-9]/.test(line));
}

describe("crash", () => {
	test("is stored before the device is told to clear it, counted, and shown", async (t) => {
		const events = new Events();
		const emitted: unknown[] = [];
		events.on({ crash: (device, { message }) => emitted.push([device.deviceId, message]) });
		const { gateway, monitor } = await runWatched(t, { events });
		const device = await connect(gateway);
		assert.deepEqual(await reportCrash(device, crashOf("1a")), { command: "clear_crash", id: "1a" });
		assert.deepEqual(emitted, [[deviceId, crashOf("1a").message]]);
		const stored = JSON.parse(await readFile(fileOf(gateway), "utf8")).crashes[0];
		assert.deepEqual(stored, { ...crashOf("1a"), cause: signatureOf(crashOf("1a")).id, at: stored.at });
		assert.equal((await monitor.change("crash")).crashCount, 1);
		assert.deepEqual(await metrics(gateway), ['gateway_crashes_total{kind="exception",version="1.4.0"} 1']);
		const { crashCount, crashes } = await details(gateway);
		const { firmware_version: version, uptime_seconds: uptimeSeconds, ...rest } = crashOf("1a");
		const at = new Date(stored.at).toISOString();
		assert.deepEqual([crashCount, crashes], [1, [{ ...rest, version, uptimeSeconds, at }]]);
	});

	test("is counted from 0 for the version that is being installed, which may crash before it reports", async () => {
		const registry = new Registry();
		const { events, sessions, open } = makeSessions();
		events.on(new CrashCounter(createMetrics(registry)));
		const { device } = open(deviceId);
		assert.ok(device, "no device");
		sessions.setOta(device, { ...noUpdate, otaStatus: "pending", otaVersion: "2.0.0" });
		assert.match(await registry.metrics(), /^gateway_crashes_total\{kind="panic",version="2\.0\.0"\} 0$/m);
	});

	test("is counted once, even if the gateway stopped before the device cleared it", async (t) => {
		const first = await runGateway(t);
		await reportCrash(await connect(first), crashOf("1a"));
		const known = await details(first);
		await first.gateway.close();

		const second = await runGateway(t, { dataDir: first.dataDir });
		const back = await connect(second);
		assert.deepEqual(await reportCrash(back, crashOf("1a")), { command: "clear_crash", id: "1a" });
		assert.deepEqual(await metrics(second), []);
		assert.deepEqual(await details(second), known);
	});

	test("is not cleared if it cannot be written, and reported again at the next connection", async (t) => {
		const full = failingDisk("create", "ENOSPC", "/crashes/");
		const { gateway, monitor } = await runWatched(t, { disk: full.disk });
		const device = await connect(gateway);
		assert.equal((await device.next()).command, "query_crash");
		device.send({ type: "crash_report", deviceId, crash: crashOf("1a") });
		await waitUntil(async () => (await gateway.api("GET", "/readyz")).status === 503);
		assert.deepEqual(await metrics(gateway), []);
		await monitor.request(query);
		assert.equal((await device.next()).command, "query_state", "it was asked to clear");
		full.isFailing = false;
		const again = await connect(gateway);
		assert.deepEqual(await reportCrash(again, crashOf("1a")), { command: "clear_crash", id: "1a" });
		assert.equal((await details(gateway)).crashes.length, 1);
	});

	test("is kept among the last twenty, and counted for the running firmware", async (t) => {
		const gateway = await runGateway(t, noRateLimits);
		for (let index = 0; index < 22; index++) {
			const device = await connect(gateway);
			await reportCrash(device, crashOf(`a${index}`, { firmware_version: index < 20 ? "1.3.0" : "1.4.0" }));
		}
		const { crashCount, ids } = await details(gateway);
		assert.equal(crashCount, 2);
		const latest = Array.from({ length: 20 }, (_, index) => `a${index + 2}`);
		assert.deepEqual(ids, latest);
		assert.equal((await metrics(gateway)).length, 2);
	});

	test("is accepted once per request, without unknown fields", async (t) => {
		const gateway = await runGateway(t);
		const device = await connect(gateway);
		await reportCrash(device, { ...crashOf("1a"), ...{ more: "x".repeat(10_000) } });
		const monitor = await gateway.monitor();
		device.send({ type: "crash_report", deviceId, crash: crashOf("1b") });
		device.send(report);
		await monitor.until(({ message }) => Object(message).type === "state_report");
		// Records of a device are written sequentially.
		await reportCrash(await connect(gateway), crashOf("1c"));
		assert.deepEqual((await details(gateway)).ids, ["1a", "1c"]);
		assert.doesNotMatch(await readFile(fileOf(gateway), "utf8"), /xxx/);
	});
});

describe("crash request", () => {
	test("is sent only to devices with the feature, once per connection", async (t) => {
		const { gateway, monitor } = await runWatched(t);
		for (const features of ["", "identify", "identify,crash"]) {
			const expected = features.includes("crash") ? ["query_crash"] : [];
			const device = await connect(gateway, features);
			device.send(report);
			await monitor.until(({ type }) => type === "device_message");
			await monitor.until(({ type }) => type === "device_message");
			await monitor.request(query);
			const commands: string[] = [];
			for (;;) {
				const { command } = await device.next();
				if (command === "query_state") break;
				commands.push(command);
			}
			assert.deepEqual(commands, expected);
		}
	});

	test("is sent to an unidentified device after its first report", async (t) => {
		const gateway = await runGateway(t);
		const device = await gateway.device({ "Device-Features": "crash" });
		device.send(report);
		assert.deepEqual(await reportCrash(device, crashOf("1a")), { command: "clear_crash", id: "1a" });
	});
});

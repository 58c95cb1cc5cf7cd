import assert from "node:assert/strict";
import fs, { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { Registry } from "prom-client";
import type { Crash } from "../../../device/protocol/messages.js";
import { noUpdate } from "../../../gateway/api/update.js";
import { Events } from "../../../gateway/events.js";
import { signatureOf } from "../../../gateway/fleet/crash-signature.js";
import { CrashCounter } from "../../../gateway/fleet/crash-store.js";
import type { GatewayOptions } from "../../../gateway/gateway.js";
import { Sessions } from "../../../gateway/sessions/sessions.js";
import type { Disk } from "../../../gateway/storage/atomic-file.js";
import { createMetrics } from "../../../gateway/telemetry/metrics.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { waitUntil } from "../../support/eventually.js";
import {
	bearer,
	type Client,
	monitorToken,
	noRateLimits,
	type RunningGateway,
	runGateway,
} from "../../support/running.js";
import { sampleReport, withField } from "../../support/sample-report.js";
import { crashOf } from "./crashed.js";

const deviceId = "dev-1-a1b2c3";

const report = withField({ ...sampleReport("DEV-1"), deviceId }, "system.firmware_version", "1.4.0");

/** Connected device with `features` that never responds by itself. */
async function connect(gateway: RunningGateway, features = "crash"): Promise<Client> {
	const device = await gateway.device({ "Device-Id": deviceId, "Device-Features": features });
	device.send(report);
	return device;
}

/** Responds to the gateway's request. @returns the next command of the gateway */
async function reportCrash(device: Client, crash?: Crash) {
	assert.equal((await device.next()).command, "query_crash");
	device.send({ type: "crash_report", deviceId, ...(crash && { crash }) });
	return device.next();
}

async function details({ url }: RunningGateway) {
	const response = await fetch(`${url}/api/devices/${deviceId}`, { headers: bearer(monitorToken) });
	const body: { crashCount?: number; crashes: Record<string, unknown>[] } = JSON.parse(await response.text());
	return { crashCount: body.crashCount, crashes: body.crashes };
}

async function metrics({ url }: RunningGateway): Promise<readonly string[]> {
	const response = await fetch(`${url}/metrics`, { headers: bearer(monitorToken) });
	return (await response.text()).split("\n").filter((line) => /^gateway_crashes_total.* [1-9]/.test(line));
}

async function run(t: TestContext, options: GatewayOptions = {}) {
	const dataDir = await temporaryDirectory(t);
	const start = (more: GatewayOptions = {}) => runGateway(t, { dataDir, ...options, ...more });
	return { dataDir, file: join(dataDir, "crashes", `${deviceId}.json`), start };
}

describe("crash", () => {
	test("is stored before the device is told to clear it, counted, and shown", async (t) => {
		const { file, start } = await run(t);
		const events = new Events();
		const emitted: unknown[] = [];
		events.on({ crash: (device, { message }) => emitted.push([device.deviceId, message]) });
		const gateway = await start({ events });
		const monitor = await gateway.monitor();
		const device = await connect(gateway);
		assert.deepEqual(await reportCrash(device, crashOf("1a")), { command: "clear_crash", id: "1a" });
		assert.deepEqual(emitted, [[deviceId, crashOf("1a").message]]);
		const stored: { crashes: { id: string; at: number }[] } = JSON.parse(await readFile(file, "utf8"));
		assert.deepEqual(
			stored.crashes.map(({ at, ...crash }) => ({ ...crash, isTime: at > 0 })),
			[{ ...crashOf("1a"), cause: signatureOf(crashOf("1a")).id, isTime: true }],
		);
		const session = await monitor.change("crash");
		assert.equal(session.crashCount, 1);
		assert.deepEqual(await metrics(gateway), ['gateway_crashes_total{kind="exception",version="1.4.0"} 1']);
		const { crashCount, crashes } = await details(gateway);
		assert.equal(crashCount, 1);
		const { at, ...shown } = crashes[0] ?? {};
		assert.ok(Date.parse(String(at)) > 0, `reported at ${at}`);
		const { firmware_version: version, uptime_seconds: uptimeSeconds, ...rest } = crashOf("1a");
		assert.deepEqual(shown, { ...rest, version, uptimeSeconds });
	});

	test("is counted from 0 for the version that is being installed, which may crash before it reports", async () => {
		const registry = new Registry();
		const events = new Events();
		const sessions = new Sessions({ events, now: Date.now, monotonic: () => 0, maxDevices: 1 });
		events.on(new CrashCounter(createMetrics(registry)));
		const handshake = { deviceId, isBound: false, model: undefined, chip: undefined, features: [] };
		const link = { send: () => {}, isOpen: () => true, close: () => {} };
		const { device } = sessions.open({ ...handshake, remoteAddress: "::1", baseUrl: "" }, link);
		assert.ok(device, "no device");
		sessions.setOta(device, { ...noUpdate, otaStatus: "pending", otaVersion: "2.0.0" });
		assert.match(await registry.metrics(), /^gateway_crashes_total\{kind="panic",version="2\.0\.0"\} 0$/m);
	});

	test("is counted once, even if the gateway stopped before the device cleared it", async (t) => {
		const { start } = await run(t);
		const first = await start();
		const device = await connect(first);
		await reportCrash(device, crashOf("1a"));
		const known = await details(first);
		await first.gateway.close();

		const second = await start();
		const back = await connect(second);
		assert.deepEqual(await reportCrash(back, crashOf("1a")), { command: "clear_crash", id: "1a" });
		assert.deepEqual(await metrics(second), []);
		assert.deepEqual(await details(second), known);
	});

	test("is not cleared if it cannot be written, and reported again at the next connection", async (t) => {
		let isFull = true;
		const open: Disk["open"] = (path, flags, mode) => {
			if (isFull && flags === "wx" && String(path).includes("/crashes/"))
				throw Object.assign(new Error("full"), { code: "ENOSPC" });
			return fs.open(path, flags, mode);
		};
		const { start } = await run(t, { disk: { ...fs, open } });
		const gateway = await start();
		const monitor = await gateway.monitor();
		const device = await connect(gateway);
		assert.equal((await device.next()).command, "query_crash");
		device.send({ type: "crash_report", deviceId, crash: crashOf("1a") });
		await waitUntil(async () => (await fetch(`${gateway.url}/readyz`)).status === 503);
		assert.deepEqual(await metrics(gateway), []);
		await monitor.request({
			type: "control_device",
			targetId: deviceId,
			payload: { command: "query_state" },
		});
		assert.equal((await device.next()).command, "query_state", "it was asked to clear");
		isFull = false;
		const again = await connect(gateway);
		assert.deepEqual(await reportCrash(again, crashOf("1a")), { command: "clear_crash", id: "1a" });
		assert.equal((await details(gateway)).crashes.length, 1);
	});

	test("is kept among the last twenty, and counted for the running firmware", async (t) => {
		const { start } = await run(t, noRateLimits);
		const gateway = await start();
		for (let index = 0; index < 22; index++) {
			const device = await connect(gateway);
			await reportCrash(device, crashOf(`a${index}`, { firmware_version: index < 20 ? "1.3.0" : "1.4.0" }));
		}
		const { crashCount, crashes } = await details(gateway);
		assert.equal(crashCount, 2);
		assert.deepEqual(
			crashes.map(({ id }) => id),
			Array.from({ length: 20 }, (_, index) => `a${index + 2}`),
		);
		assert.equal((await metrics(gateway)).length, 2);
	});

	test("is accepted once per request, without unknown fields", async (t) => {
		const { file, start } = await run(t);
		const gateway = await start();
		const device = await connect(gateway);
		await reportCrash(device, { ...crashOf("1a"), ...{ more: "x".repeat(10_000) } });
		const monitor = await gateway.monitor();
		device.send({ type: "crash_report", deviceId, crash: crashOf("1b") });
		device.send(report);
		const isReport = ({ message }: { message: unknown }) => JSON.stringify(message)?.includes("state_report");
		await monitor.until((frame) => isReport(frame) ?? false);
		// Records of a device are written sequentially.
		await reportCrash(await connect(gateway), crashOf("1c"));
		const { crashes } = await details(gateway);
		assert.deepEqual(
			crashes.map(({ id }) => id),
			["1a", "1c"],
		);
		assert.doesNotMatch(await readFile(file, "utf8"), /xxx/);
	});

	test("is removed with its device", async (t) => {
		const { file, start } = await run(t);
		const gateway = await start();
		const monitor = await gateway.monitor();
		const device = await connect(gateway);
		await reportCrash(device, crashOf("1a"));
		device.socket.close();
		await monitor.change("disconnected");
		const { url } = gateway;
		const removed = await fetch(`${url}/api/devices/${deviceId}`, {
			method: "DELETE",
			headers: bearer(monitorToken),
		});
		assert.equal(removed.status, 204);
		await assert.rejects(readFile(file), /ENOENT/);
	});
});

describe("crash request", () => {
	test("is sent only to devices with the feature, once per connection", async (t) => {
		const { start } = await run(t);
		const gateway = await start();
		const monitor = await gateway.monitor();
		for (const [features, expected] of [
			["", []],
			["identify", []],
			["identify,crash", ["query_crash"]],
		] as const) {
			const device = await connect(gateway, features);
			device.send(report);
			await monitor.until(({ type }) => type === "device_message");
			await monitor.until(({ type }) => type === "device_message");
			await monitor.request({
				type: "control_device",
				targetId: deviceId,
				payload: { command: "query_state" },
			});
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
		const { start } = await run(t);
		const gateway = await start();
		const device = await gateway.device({ "Device-Features": "crash" });
		device.send(report);
		assert.deepEqual(await reportCrash(device, crashOf("1a")), { command: "clear_crash", id: "1a" });
	});
});

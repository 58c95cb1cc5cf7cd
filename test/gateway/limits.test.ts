/** Tests of limits, metrics and readiness of the core. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { rename } from "node:fs/promises";
import { createConnection, type Socket } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { FrameOf } from "../../gateway/api/frames.js";
import { socketLimits } from "../../gateway/limits.js";
import { snapshotTexts } from "../../gateway/sessions/view.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { nextEvent } from "../support/eventually.js";
import { makeSessions } from "../support/record-stubs.js";
import { bearer, deviceToken, type RunOptions, runGateway } from "../support/running.js";
import { sampleReport } from "../support/sample-report.js";

test("rejects more than 30 uploads a minute from one address", async (t) => {
	const { api } = await runGateway(t);
	const statuses: number[] = [];
	for (let i = 0; i < 31; i += 1) statuses.push((await api("POST", "/ota/upload", "")).status);
	assert.deepEqual(statuses, [...Array(30).fill(415), 429]);
});

test("keeps idle connections of trusted proxies longer than those of others", async (t) => {
	const connect = async (options: RunOptions) => {
		const { url } = await runGateway(t, { ...options, limits: { keepAliveMs: 1 } });
		const socket = createConnection(Number(new URL(url).port), "127.0.0.1").setEncoding("utf8");
		t.after(() => socket.destroy());
		return socket;
	};
	const ask = async (socket: Socket) => {
		socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
		assert.match(String(await nextEvent(socket, "data")), /^HTTP\/1\.1 200/);
	};
	const proxied = await connect({ trustProxy: (_address, hop) => hop === 0 });
	const direct = await connect({});
	await ask(proxied);
	await ask(direct);
	await nextEvent(direct, "close");
	await ask(proxied);
});

describe("/metrics", () => {
	test("counts events, and is available only to monitors", async (t) => {
		const gateway = await runGateway(t);
		const read = (token?: string) => gateway.api("GET", "/metrics", undefined, token);
		assert.equal((await read(deviceToken)).status, 401);
		const monitor = await gateway.monitor();
		const { device, session } = await gateway.namedDevice(monitor);
		await gateway.device({ "Device-Id": "dev-1-000002" }).then(({ socket }) => socket.close());
		await monitor.change("disconnected");
		await monitor.request({ type: "boot_device", targetId: "unknown" });
		const payload = { command: "query_state" };
		await monitor.request({ type: "control_device", targetId: session.sessionId, payload });
		await gateway.rejected("/device", bearer("wrong"));
		device.send("nonsense");
		device.send({ type: "ota_progress", percent: 1, bytes_written: 1, bytes_total: 100 });
		await monitor.change("ota");
		device.send({ type: "ota_error", reason: "x" });
		await monitor.change("ota");
		const { headers, text } = await read();
		assert.match(headers.get("content-type") ?? "", /^text\/plain.*version=0\.0\.4/);
		for (const line of [
			"gateway_sessions 1",
			"gateway_known_devices 2",
			"gateway_monitors 1",
			"gateway_device_queue_bytes 0",
			"gateway_monitor_queue_bytes 0",
			'gateway_uplinks_total{type="state_report"} 1',
			'gateway_uplinks_total{type="ota_error"} 1',
			"gateway_dropped_uplinks_total 1",
			'gateway_commands_total{type="control_device"} 1',
			'gateway_rejected_commands_total{code="unknown_target"} 1',
			'gateway_rejected_upgrades_total{status="401"} 1',
			'gateway_updates_total{outcome="failed"} 1',
		])
			assert.ok(text.split("\n").includes(line), `${line}\n${text}`);
		const relays = /^gateway_relay_seconds_count (\d+)$/m.exec(text)?.[1];
		assert.ok(Number(relays) >= 3, `${relays} turns, of three uplinks at least`);
	});

	test("does not recount an update that ended before a restart", async (t) => {
		const first = await runGateway(t);
		const monitor = await first.monitor();
		const { device } = await first.namedDevice(monitor);
		device.send({ type: "ota_error", reason: "x" });
		await monitor.change("ota");
		await first.gateway.close();
		const second = await runGateway(t, { dataDir: first.dataDir });
		const later = await second.monitor();
		await second.device({ "Device-Id": "dev-1-a1b2c3" });
		assert.equal((await later.change("connected")).metadata.otaStatus, "failed");
		assert.doesNotMatch(await second.metrics(), /gateway_updates_total\{.* [1-9]/);
	});
});

test("reports readiness at /readyz without a token", async (t) => {
	const dataDir = join(await temporaryDirectory(t), "data");
	const gateway = await runGateway(t, { dataDir });
	const ready = await gateway.api("GET", "/readyz", undefined, "");
	assert.deepEqual([ready.status, ready.body], [200, { status: "ready" }]);
	await rename(dataDir, `${dataDir}-elsewhere`);
	const lost = await gateway.api("GET", "/readyz", undefined, "");
	assert.equal(lost.status, 503);
	assert.match(lost.text, /"The data folder cannot be used \(ENOENT\)/);
});

describe("size limits of frames", () => {
	test("are those of interface.md", () => {
		const { maxFrameBytes, maxMonitorFrameBytes } = socketLimits;
		const text = readFileSync("gateway/api/interface.md", "utf8").replace(/\s+/g, " ");
		const [toDevices, toMonitors] = [maxFrameBytes, maxMonitorFrameBytes].map((bytes) => bytes / 1024);
		const sentence = `of at most ${toDevices} KiB to the gateway and to devices, and of at most ${toMonitors} KiB to`;
		assert.ok(text.includes(sentence), sentence);
	});

	test("hold for a snapshot of devices with the longest reports", () => {
		const { sessions, open } = makeSessions();
		const { network, ...others } = sampleReport("DEV-1");
		const wifi_ssid = "\uffff".repeat(socketLimits.maxFrameBytes / 3 - 1_000);
		for (let index = 0; index < 100; index += 1) {
			const session = open(`d${index}`);
			const report = { ...others, deviceId: `d${index}`, network: { ...network, wifi_ssid } };
			sessions.receive(session, report, Buffer.from(JSON.stringify(report)));
		}
		open("", { deviceId: undefined });
		const texts = snapshotTexts(sessions, () => 0);
		const frames = [String(texts.next().value)];
		const last = [...sessions.devices.values()].at(-1) ?? assert.fail("no device");
		sessions.end(last.session, "disconnected");
		frames.push(...texts);
		const sizes = frames.map((frame) => Buffer.byteLength(frame));
		assert.ok(sizes.length > 2 && Math.max(...sizes) <= socketLimits.maxMonitorFrameBytes, sizes.join());
		const parsed: FrameOf<"status_update">[] = frames.map((frame) => JSON.parse(frame));
		const reasons = [...new Set(parsed.map(({ reason }) => reason))];
		assert.deepEqual(reasons, ["snapshot", "identified", "connected"]);
		const records = parsed.flatMap((frame) => frame.sessions);
		assert.deepEqual([records.length, new Set(records.map(({ deviceId }) => deviceId)).size], [101, 101]);
		const current = records.find(({ deviceId }) => deviceId === last.deviceId);
		assert.equal(current?.connected, false, "an outdated state");
		for (const [index, { remaining }] of parsed.entries())
			assert.equal(remaining, parsed.slice(index + 1).flatMap((frame) => frame.sessions).length);
	});
});

/** Tests of the summary requested in the URL: without a session snapshot, compressed, first rows first. */

import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import type { WebSocket } from "ws";
import { summaryText } from "../../../gateway/fleet/summary.js";
import { socketLimits } from "../../../gateway/limits.js";
import type { Device } from "../../../gateway/sessions/device.js";
import { MonitorView } from "../../support/monitor-view.js";
import { bearer, monitorToken, noRateLimits, reportWithVolume, runGateway } from "../../support/running.js";
import { summarized } from "./summarized.js";

const headers = bearer(monitorToken);
const limits = { ...noRateLimits.limits, summaryPauseMs: 10, snapshotDebounceMs: 10 };

function streamOf(socket: WebSocket): Socket {
	const stream: unknown = Reflect.get(socket, "_socket");
	return Object(stream);
}

test("sends the list fields of each device first if requested in the URL", async (t) => {
	const { subscribe, reporting, monitor, api } = await runGateway(t, { limits });
	const deviceId = "dev-1-000001";
	const first = await reporting(await monitor(), deviceId);
	const client = await subscribe("summary");
	const picture = new MonitorView(client);
	const frame = await client.until(() => true);
	assert.deepEqual([frame.type, frame.reason, frame.remaining], ["summary", "snapshot", 0]);
	const [{ sessionId, connectedAt, firstSeenAt, lastSeenAt, metadata, ...short }] = (
		await api("GET", "/api/devices")
	).body.devices;
	assert.deepEqual(picture.devices.get(deviceId), short);

	client.send({ type: "subscribe", summary: true, devices: [deviceId] });
	await client.until(({ type }) => type === "ack");
	assert.equal(picture.frames.filter(({ type }) => type === "summary").length, 1);
	const record = picture.frames.find(({ type }) => type === "status_update");
	assert.equal(record?.sessions[0]?.sessionId, sessionId);
	first.socket.close();
	await client.until(({ type }) => type === "summary" && picture.devices.get(deviceId)?.connected === false);
});

test("sends a large fleet in parts, a small one first, by name", () => {
	const ids = Array.from({ length: 600 }, (_, index) => `dev-1-${String(index).padStart(6, "0")}`);
	const textOf = (device: Device) => summaryText(device, { of: () => ({}) });
	const { summary, open } = summarized(1000, 10, { textOf });
	for (const deviceId of ids.toReversed()) open(deviceId);
	const frames = [...summary.snapshot()].map((frame) => JSON.parse(frame));
	assert.ok(frames.length > 2 && frames[0].devices.length < 100, `${frames[0].devices.length} devices first`);
	assert.deepEqual(
		frames.flatMap(({ devices }) => devices.map(({ deviceId }: { deviceId: string }) => deviceId)),
		ids,
	);
	assert.equal(frames.at(-1).remaining, 0);
});

test("compresses the summary for a monitor that offers it", async (t) => {
	const { subscribe, device } = await runGateway(t, { limits });
	await Promise.all(
		Array.from({ length: 30 }, (_, index) =>
			device({ "Device-Id": `dev-1-${index}`, "Device-Model": "DEV-1" }),
		),
	);
	const client = await subscribe("summary");
	assert.match(client.socket.extensions, /permessage-deflate/);
	const text = await client.nextText();
	const { bytesRead } = streamOf(client.socket);
	assert.ok(bytesRead < text.length / 4, `${bytesRead} of ${text.length} bytes`);
});

test("compresses no reports, and nothing for devices or other monitors", async (t) => {
	const { open, reporting, monitor } = await runGateway(t, { limits });
	const plain = await open("/monitor", { headers, perMessageDeflate: false });
	assert.equal(plain.socket.extensions, "");
	const watcher = await monitor();
	const reporter = await reporting(watcher, "dev-1-000001");
	assert.equal(reporter.socket.extensions, "");
	await watcher.until(({ type }) => type === "device_message");
	const before = streamOf(watcher.socket).bytesRead;
	reporter.send({ ...reportWithVolume(51, "dev-1-000001"), filler: "x".repeat(1000) });
	const text = JSON.stringify(await watcher.until(({ type }) => type === "device_message"));
	assert.ok(text.length > socketLimits.compressionThresholdBytes, `${text.length} characters`);
	const bytes = streamOf(watcher.socket).bytesRead - before;
	assert.ok(bytes >= text.length * 0.9, `${bytes} bytes for ${text.length} characters`);
});

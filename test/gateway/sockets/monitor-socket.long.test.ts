import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sampleReport } from "../../../scripts/api/sample-report.js";
import {
	bearer,
	type Client,
	type Frame,
	monitorToken,
	noRateLimits,
	reportWithVolume,
	runGateway,
} from "../../support/running.js";

describe("slow monitor", () => {
	const error = { type: "command_error", deviceId: "dev-1-a1b2c3", command: "x", code: "busy" };
	const filler = { ...error, message: "x".repeat(1000) };
	const marker = { ...error, message: "end of a portion" };
	/** One device stands for a fleet; a paused monitor answers no pings, for a minute on a busy machine. */
	const atFullSpeed = {
		uplinksASecond: 1e9,
		uplinkBurst: 1e9,
		pingIntervalMs: 300_000,
		closeTimeoutMs: 300_000,
	};

	/** Sends about 15 MB, more than the kernel buffers for a paused monitor, at a rate that `reader` keeps up with. */
	async function fill(device: Client, reader: Client, portions = 300): Promise<void> {
		for (let portion = 0; portion < portions; portion += 1) {
			for (let i = 0; i < 50; i += 1) device.send(filler);
			device.send(marker);
			await reader.until(({ message }) => JSON.stringify(message) === JSON.stringify(marker));
		}
	}

	test("gets only the latest report of each session, and does not delay others", async (t) => {
		const gateway = await runGateway(t, { limits: { ...atFullSpeed, slowMonitorBytes: 500_000 } });
		const slow = await gateway.monitor();
		const fast = await gateway.monitor();
		const { device } = await gateway.namedDevice(fast);
		const second = await gateway.device({ "Device-Id": "dev-1-000002" });
		slow.socket.pause();
		await fill(device, fast);
		for (let volume = 0; volume <= 100; volume += 1) {
			device.send(reportWithVolume(volume));
			second.send(reportWithVolume(100 - volume, "dev-1-000002"));
		}
		const last = [reportWithVolume(100), reportWithVolume(0, "dev-1-000002")].map((report) =>
			JSON.stringify(report),
		);
		const awaited = new Set(last);
		while (awaited.size > 0) awaited.delete(JSON.stringify((await fast.next()).message));
		await fill(device, fast, 1);
		slow.socket.resume();
		const reports: string[] = [];
		while (reports.length < 3) {
			const { type, message } = await slow.next();
			const text = JSON.stringify(message);
			if (type === "device_message" && text.includes("state_report")) reports.push(text);
		}
		assert.deepEqual(reports.sort(), [JSON.stringify(sampleReport("DEV-1")), ...last].sort());
	});

	test("gets every change and response, and no report older than a change", async (t) => {
		const gateway = await runGateway(t, { limits: { ...atFullSpeed, slowMonitorBytes: 500_000 } });
		const slow = await gateway.monitor();
		const fast = await gateway.monitor();
		const { device } = await gateway.namedDevice(fast);
		slow.socket.pause();
		await fill(device, fast);
		device.send(reportWithVolume(77));
		device.socket.close();
		await fast.change("disconnected");
		slow.send({ type: "boot_device", targetId: "unknown", requestId: "still here" });
		slow.socket.resume();
		const { state } = await slow.change("disconnected");
		assert.deepEqual(state, reportWithVolume(77));
		assert.equal((await slow.next()).requestId, "still here");
		slow.send({ type: "boot_device", targetId: "unknown", requestId: "next" });
		assert.equal((await slow.next()).requestId, "next");
	});

	test("is closed with 1013 when its backlog is too long", async (t) => {
		const gateway = await runGateway(t, {
			limits: { ...atFullSpeed, slowMonitorBytes: 1e9, stuckMonitorBytes: 500_000 },
		});
		const slow = await gateway.monitor();
		const fast = await gateway.monitor();
		const { device } = await gateway.namedDevice(fast);
		slow.socket.pause();
		await fill(device, fast);
		slow.socket.resume();
		assert.equal((await slow.closed).code, 1013);
		device.send({ type: "ota_complete" });
		await fast.until(({ message }) => JSON.stringify(message) === '{"type":"ota_complete"}');
	});
});

test("splits the snapshot of a large fleet into frames, interleaved with changes and up to date", async (t) => {
	// Each has about 5 KB of state: six frames.
	const gateway = await runGateway(t, noRateLimits);
	const watching = await gateway.monitor();
	const ids = Array.from({ length: 300 }, (_, index) => `dev-1-${index}`);
	for (const id of ids) {
		const device = await gateway.device({ "Device-Id": id });
		device.send({ ...reportWithVolume(1, id), extra: "x".repeat(4000) });
		await watching.until(({ reason }) => reason === "identified");
	}
	const monitor = await gateway.open("/monitor", { headers: bearer(monitorToken) });
	const last = ids.at(-1);
	const frames: Frame[] = [await monitor.next()];
	monitor.send({ type: "boot_device", targetId: last });
	while (frames.at(-1)?.remaining !== 0) {
		const text = await monitor.nextText();
		assert.ok(text.length < 300_000, `a frame of ${text.length} characters`);
		const frame: Frame = JSON.parse(text);
		if (frame.type === "status_update") frames.push(frame);
	}
	const pieces = frames.filter(({ reason }) => reason !== "boot");
	assert.ok(pieces.length >= 6, `${pieces.length} frames`);
	assert.deepEqual([...new Set(pieces.map(({ reason }) => reason))], ["snapshot", "identified"]);
	const received = pieces.flatMap(({ sessions }) => sessions.map(({ deviceId }) => deviceId));
	assert.deepEqual(received, ids);
	assert.deepEqual(
		pieces.map(({ remaining }) => remaining),
		pieces.map((_, index) => pieces.slice(index + 1).flatMap(({ sessions }) => sessions).length),
	);
	const states = frames.flatMap(({ sessions }) => sessions.filter(({ deviceId }) => deviceId === last));
	assert.equal(states.at(-1)?.connected, false);
});

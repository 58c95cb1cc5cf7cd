import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { maxSubscribedDevices } from "../../../gateway/api/subscription.js";
import { Events } from "../../../gateway/events.js";
import { Summary, summaryText } from "../../../gateway/fleet/summary.js";
import { Sessions } from "../../../gateway/sessions/sessions.js";
import { frameCharacters } from "../../../gateway/sessions/view.js";
import { sampleReport } from "../../../scripts/api/sample-report.js";
import { MonitorView } from "../../support/monitor-view.js";
import {
	bearer,
	type Client,
	monitorToken,
	type RunningGateway,
	reportWithVolume,
	runGateway,
} from "../../support/running.js";

const limits = { summaryPauseMs: 10, snapshotDebounceMs: 10 };
const first = "dev-1-000001";
const second = "dev-1-000002";

/** Connects a device whose report has reached a monitor of everything. */
async function reported(gateway: RunningGateway, watcher: Client, deviceId: string): Promise<Client> {
	const device = await gateway.device({ "Device-Id": deviceId });
	device.send(reportWithVolume(50, deviceId));
	await watcher.change("identified");
	return device;
}

/** Subscribed monitor, with its frames up to the response. */
async function subscribed(gateway: RunningGateway, devices: readonly string[], summary = true) {
	const client = await gateway.monitor();
	const picture = new MonitorView(client);
	client.send({ type: "subscribe", summary, devices, requestId: "s" });
	const ack = await picture.until(({ type }) => type === "ack");
	return { client, picture, ack };
}

async function ask({ url }: RunningGateway, method: string, path: string, body?: object) {
	const headers = { ...bearer(monitorToken), ...(body && { "Content-Type": "application/json" }) };
	const response = await fetch(`${url}/api/devices${path}`, {
		method,
		headers,
		...(body && { body: JSON.stringify(body) }),
	});
	return response.status === 204 ? undefined : response.json();
}

describe("subscribed monitor", () => {
	test("receives the full summary, and the record of each known subscribed device", async (t) => {
		const gateway = await runGateway(t, { limits });
		const watcher = await gateway.monitor();
		for (const id of [first, second]) await reported(gateway, watcher, id);
		const { picture, ack } = await subscribed(gateway, [second, "unknown"]);
		assert.deepEqual(ack, { type: "ack", requestId: "s", command: "subscribe" });
		assert.ok(picture.isComplete, "the summary is incomplete");
		assert.deepEqual(picture.devicesById(), await picture.expected(gateway));
		assert.deepEqual(
			picture.frames
				.filter(({ type }) => type === "status_update")
				.map(({ reason, sessions }) => [reason, sessions.map(({ deviceId }) => deviceId)]),
			[["identified", [second]]],
		);
		assert.deepEqual([...picture.states.keys()], [second]);
	});

	test("receives the current summary before others receive the latest change", async (t) => {
		const gateway = await runGateway(t, { limits: { summaryPauseMs: 600_000 } });
		const watcher = await gateway.monitor();
		await reported(gateway, watcher, first);
		await subscribed(gateway, []);
		await ask(gateway, "PATCH", `/${first}`, { name: "Lobby" });
		const { picture } = await subscribed(gateway, []);
		assert.equal(picture.devices.get(first)?.name, "Lobby");
	});

	test("receives every change and uplink of subscribed devices, and none of others", async (t) => {
		const gateway = await runGateway(t, { limits });
		const watcher = await gateway.monitor();
		const devices = [await reported(gateway, watcher, first), await reported(gateway, watcher, second)];
		const { picture } = await subscribed(gateway, [second]);
		const before = picture.frames.length;
		for (const [index, id] of [first, second].entries()) {
			devices[index]?.send(reportWithVolume(7, id));
			devices[index]?.send({ type: "ota_error", reason: "HTTP 404" });
		}
		await picture.until(
			({ type, message }) => type === "device_message" && JSON.stringify(message).includes("404"),
		);
		devices[0]?.socket.close();
		devices[1]?.socket.close();
		await picture.until(({ reason }) => reason === "disconnected");
		const own = picture.frames.slice(before).filter(({ type }) => type !== "summary");
		assert.deepEqual(
			own.map(({ type, reason, deviceId, sessions }) => [
				reason ?? type,
				deviceId ?? sessions?.[0]?.deviceId,
			]),
			[
				["device_message", second],
				["device_message", second],
				["ota", second],
				["disconnected", second],
			],
		);
	});

	test("may subscribe to other devices at any time, and receives only new ones", async (t) => {
		const gateway = await runGateway(t, { limits });
		const watcher = await gateway.monitor();
		const device = await reported(gateway, watcher, first);
		await reported(gateway, watcher, second);
		const { client, picture } = await subscribed(gateway, [first]);
		const count = picture.frames.length;
		client.send({ type: "subscribe", summary: true, devices: [second, first] });
		await picture.until(({ type }) => type === "ack");
		client.send({ type: "subscribe", summary: true });
		await picture.until(({ type }) => type === "ack");
		device.send(reportWithVolume(8, first));
		await picture.until((frame) => frame.type === "summary" && picture.devices.get(first)?.volume === 8);
		assert.deepEqual(
			picture.frames.slice(count).map(({ type, sessions }) => [type, sessions?.[0]?.deviceId]),
			[
				["status_update", second],
				["ack", undefined],
				["ack", undefined],
				["summary", undefined],
			],
		);
	});

	test("receives only subscribed devices until it requests the summary", async (t) => {
		const gateway = await runGateway(t, { limits });
		const watcher = await gateway.monitor();
		await reported(gateway, watcher, first);
		const { client, picture } = await subscribed(gateway, [first], false);
		assert.deepEqual(
			picture.frames.filter(({ type }) => type === "summary"),
			[],
		);
		for (let round = 0; round < 2; round += 1) {
			client.send({ type: "subscribe", summary: true });
			await picture.until(({ type }) => type === "ack");
			assert.ok(picture.isComplete, "the summary is incomplete");
			assert.deepEqual(picture.devicesById(), await picture.expected(gateway));
			client.send({ type: "subscribe", summary: false });
			await picture.until(({ type }) => type === "ack");
			// Not in the summary, which has no subscriber.
			await ask(gateway, "PATCH", `/${first}`, { name: `name ${round}` });
		}
	});

	test("receives the full summary at most 20 times, then once a second, when toggling it", async (t) => {
		let now = 0;
		const gateway = await runGateway(t, { limits, monotonic: () => now });
		const watcher = await gateway.monitor();
		await reported(gateway, watcher, first);
		const { client, picture } = await subscribed(gateway, [], false);
		const switchOn = async (requestId: string) => {
			client.send({ type: "subscribe", summary: false });
			client.send({ type: "subscribe", summary: true, requestId });
			return picture.until((frame) => frame.requestId === requestId);
		};
		for (let time = 0; time < 20; time += 1) assert.equal((await switchOn(`${time}`)).type, "ack");
		const { type, code, message } = await switchOn("too often");
		assert.deepEqual(
			[type, code, message],
			["error", "rate_limited", "summary limited to 1 a second; try again later"],
		);
		const wholes = picture.frames.filter((frame) => frame.type === "summary" && frame.reason === "snapshot");
		assert.equal(wholes.length, 20);
		now += 1000;
		assert.equal((await switchOn("a second later")).type, "ack");
		assert.deepEqual(picture.devicesById(), await picture.expected(gateway));
	});

	test("receives unidentified sessions, which are not in the summary", async (t) => {
		const gateway = await runGateway(t, { limits });
		const watcher = await gateway.monitor();
		const open = async () => ({ device: await gateway.device(), ...(await watcher.change("connected")) });
		const early = await open();
		const { client, picture } = await subscribed(gateway, []);
		const without = await subscribed(gateway, [], false);
		const received = () =>
			picture.frames
				.filter(({ type }) => type === "status_update")
				.map(({ reason, sessions }) => [reason, sessions.map(({ sessionId }) => sessionId)]);
		assert.deepEqual(received(), [["connected", [early.sessionId]]]);
		const late = await open();
		late.device.socket.terminate();
		assert.equal((await client.change("connected")).sessionId, late.sessionId);
		assert.equal((await client.change("disconnected")).sessionId, late.sessionId);
		early.device.send(reportWithVolume(50, first));
		await watcher.change("identified");
		const { type } = await client.next();
		assert.equal(type, "summary");
		without.client.send({ type: "subscribe", summary: false, requestId: "last" });
		assert.equal((await without.client.next()).requestId, "last");
	});

	test("is notified of a forgotten device without a new snapshot", async (t) => {
		const gateway = await runGateway(t, { limits });
		const watcher = await gateway.monitor();
		for (const id of [first, second]) {
			(await reported(gateway, watcher, id)).socket.close();
			await watcher.change("disconnected");
		}
		const { picture } = await subscribed(gateway, []);
		await ask(gateway, "DELETE", `/${first}`);
		const { removed } = await picture.until(({ type }) => type === "summary");
		assert.deepEqual(removed, [first]);
		assert.deepEqual([...picture.devices.keys()], [second]);
		await watcher.until(({ reason }) => reason === "snapshot");
		await ask(gateway, "PATCH", `/${second}`, { name: "last" });
		await picture.until(() => picture.devices.get(second)?.name === "last");
		assert.deepEqual(
			picture.frames.filter(({ reason, type }) => type === "status_update" && reason === "snapshot"),
			[],
		);
	});

	test("does not affect others", async (t) => {
		const gateway = await runGateway(t, { limits });
		const watcher = await gateway.monitor();
		await subscribed(gateway, []);
		const device = await reported(gateway, watcher, first);
		device.send(reportWithVolume(1, first));
		assert.equal((await watcher.next()).type, "device_message", "of the first report");
		assert.equal((await watcher.next()).type, "device_message");
		device.socket.close();
		assert.equal((await watcher.next()).reason, "disconnected");
	});

	test("is rejected without a list of at most 200 ids", async (t) => {
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		const ids = Array.from({ length: maxSubscribedDevices + 1 }, (_, index) => `d${index}`);
		for (const devices of [null, "d", {}, [1], ["x".repeat(65)], ids]) {
			const answer = await monitor.request({ type: "subscribe", summary: true, devices });
			assert.equal(answer.code, "invalid_message", JSON.stringify(devices));
			assert.match(
				String(answer.message),
				/^subscribe: devices(\.0)? must be a (list of at most 200|string of at most 64 characters)$/,
			);
		}
		assert.equal((await monitor.request({ type: "subscribe", devices: [] })).code, "invalid_message");
		const all = await monitor.request({ type: "subscribe", summary: true, devices: ids.slice(1) });
		assert.equal(all.type, "ack");
	});
});

/** Summary of devices with records of about `characters`, and its frames, in virtual time. */
function summarized(t: TestContext, count: number, characters: number) {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const touch = ({ device }: { device?: { deviceId: string } | undefined }) =>
		device && summary.touch(device.deviceId);
	const events = new Events();
	const sessions: Sessions = new Sessions({
		events,
		now: () => 0,
		monotonic: () => 0,
		maxDevices: count,
	});
	events.on({
		sessionChanged: touch,
		uplink: touch,
		deviceForgotten: ({ deviceId }) => summary.touch(deviceId),
	});
	let isNeeded = true;
	const frames: Buffer[] = [];
	const summary: Summary = new Summary({
		devices: sessions.devices,
		textOf: (device) => summaryText(device, { of: () => ({}) }),
		now: () => 0,
		pauseMs: 250,
		isNeeded: () => isNeeded,
		onFrame: (frame) => void frames.push(frame),
	});
	const link = { send: () => {}, isOpen: () => true, close: () => {} };
	const remoteAddress = "x".repeat(characters);
	const open = (deviceId: string) =>
		sessions.open(
			{ deviceId, isBound: false, model: "DEV-1", chip: undefined, features: [], remoteAddress, baseUrl: "" },
			link,
		);
	const opened = Array.from({ length: count }, (_, index) => open(`d${index}`));
	const leave = () => {
		isNeeded = false;
	};
	return { sessions, summary, frames, opened, open, leave };
}

describe("summary", () => {
	test("is sent four times a second with the changes", (t) => {
		const { sessions, opened, frames } = summarized(t, 100, 10);
		t.mock.timers.tick(250);
		frames.length = 0;
		for (let time = 0; time < 1000; time += 10) {
			const device = opened[time % 7]?.device;
			assert.ok(device, "no device");
			device.label = { name: `at ${time}` };
			sessions.announce(device.session, "labelled");
			t.mock.timers.tick(10);
		}
		assert.equal(frames.length, 4);
		for (const frame of frames) {
			const ids = JSON.parse(frame.toString()).devices.map(({ deviceId }: { deviceId: string }) => deviceId);
			assert.deepEqual(ids.sort(), ["d0", "d1", "d2", "d3", "d4", "d5", "d6"]);
		}
	});

	test("is not created without subscribers", (t) => {
		const { sessions, frames, opened, leave } = summarized(t, 1, 10);
		t.mock.timers.tick(250);
		assert.equal(frames.length, 1);
		leave();
		const [session] = opened;
		assert.ok(session?.device, "no device");
		session.device.label = { name: "Hall" };
		sessions.announce(session, "labelled");
		t.mock.timers.tick(1_000);
		assert.equal(frames.length, 1);
	});

	test("is not sent for irrelevant reports, such as an RSSI change below 5 dB", (t) => {
		const { sessions, opened, frames } = summarized(t, 1, 10);
		const [session] = opened;
		assert.ok(session, "no session");
		const { network, ...report } = sampleReport("DEV-1");
		const strengths: unknown[] = [];
		for (const wifi_rssi of [-60, -64, -56, -60, -65, -61, -69, -70]) {
			frames.length = 0;
			const said = { ...report, deviceId: "d0", network: { ...network, wifi_rssi } };
			sessions.receive(session, said, Buffer.from(JSON.stringify(said)));
			t.mock.timers.tick(1000);
			strengths.push(frames.map((frame) => JSON.parse(frame.toString()).devices[0].rssi)[0]);
		}
		assert.deepEqual(strengths, [-60, undefined, undefined, undefined, -65, undefined, undefined, -70]);
	});

	test("is a snapshot in frames of limited size, with the number of remaining devices", (t) => {
		const { summary } = summarized(t, 100, 20_000);
		const frames = [...summary.snapshot()];
		assert.deepEqual(
			frames.map(({ length }) => length).filter((length) => length >= frameCharacters + 25_000),
			[],
		);
		const counts = frames.map((text) => JSON.parse(text).devices.length);
		assert.equal(
			counts.reduce((sum, count) => sum + count),
			100,
		);
		assert.ok(counts.length >= 7, `only ${counts.length} frames`);
		assert.deepEqual(
			frames.map((text) => JSON.parse(text)).map(({ reason, remaining }) => [reason, remaining]),
			counts.map((_, index) => [
				index === 0 ? "snapshot" : "changed",
				counts.slice(index + 1).reduce((sum, count) => sum + count, 0),
			]),
		);
	});

	test("is sent in frames of limited size with pauses for many changes", (t) => {
		const { frames } = summarized(t, 100, 20_000);
		const seen = new Set<string>();
		for (let round = 1; seen.size < 100; round += 1) {
			t.mock.timers.tick(250);
			assert.equal(frames.length, round);
			const frame = frames.at(-1)?.toString() ?? "";
			assert.ok(frame.length < frameCharacters + 25_000, `${frame.length}`);
			for (const { deviceId } of JSON.parse(frame).devices) seen.add(deviceId);
		}
		assert.ok(frames.length >= 7, `only ${frames.length} frames`);
		t.mock.timers.tick(10_000);
		assert.equal(frames.length, Math.ceil(100 / 14), "and no more");
	});
});

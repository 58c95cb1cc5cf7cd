import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { maxSubscribedDevices } from "../../../gateway/api/subscription.js";
import { frameCharacters } from "../../../gateway/sessions/view.js";
import { sampleReport } from "../../../scripts/api/sample-report.js";
import { MonitorView } from "../../support/monitor-view.js";
import { type RunningGateway, reportWithVolume, runGateway } from "../../support/running.js";
import { summarized } from "./summarized.js";

const limits = { summaryPauseMs: 10, snapshotDebounceMs: 10 };
const [first, second] = ["dev-1-000001", "dev-1-000002"] as const;

/** Subscribed monitor, with its frames up to the response. */
async function subscribed(gateway: RunningGateway, devices: readonly string[], summary = true) {
	const client = await gateway.monitor();
	const picture = new MonitorView(client);
	const subscribe = (message: object) => {
		client.send({ type: "subscribe", ...message });
		return client.until(({ type }) => type === "ack" || type === "error");
	};
	const ack = await subscribe({ summary, devices, requestId: "s" });
	const assertCurrent = async () => {
		assert.ok(picture.isComplete, "the summary is incomplete");
		assert.deepEqual(picture.devicesById(), await picture.expected(gateway));
	};
	return { client, picture, ack, subscribe, assertCurrent };
}

describe("subscribed monitor", () => {
	test("receives the full summary, and the record of each known device when it subscribes to it", async (t) => {
		const gateway = await runGateway(t, { limits });
		const watcher = await gateway.monitor();
		for (const id of [first, second]) await gateway.reporting(watcher, id);
		const { picture, ack, subscribe, assertCurrent } = await subscribed(gateway, [second, "unknown"]);
		assert.deepEqual(ack, { type: "ack", requestId: "s", command: "subscribe" });
		await assertCurrent();
		const records = () =>
			picture.frames
				.filter(({ type }) => type === "status_update")
				.map(({ reason, sessions }) => [reason, ...sessions.map(({ deviceId }) => deviceId)]);
		assert.deepEqual(records(), [["identified", second]]);
		assert.deepEqual([...picture.states.keys()], [second]);
		await subscribe({ summary: true, devices: [second, first] });
		await subscribe({ summary: true });
		assert.deepEqual(records().slice(1), [["identified", first]]);
		assert.equal(picture.frames.filter(({ type }) => type === "summary").length, 1);
	});

	test("receives the current summary before others receive the latest change", async (t) => {
		const gateway = await runGateway(t, { limits: { summaryPauseMs: 600_000 } });
		await gateway.reporting(await gateway.monitor(), first);
		await subscribed(gateway, []);
		await gateway.api("PATCH", `/api/devices/${first}`, { name: "Lobby" });
		const { picture } = await subscribed(gateway, []);
		assert.equal(picture.devices.get(first)?.name, "Lobby");
	});

	test("receives every change and uplink of subscribed devices, and none of others, unlike other monitors", async (t) => {
		const gateway = await runGateway(t, { limits });
		const watcher = await gateway.monitor();
		const devices = [await gateway.reporting(watcher, first), await gateway.reporting(watcher, second)];
		const { client, picture } = await subscribed(gateway, [second]);
		const before = picture.frames.length;
		for (const [index, id] of [first, second].entries()) {
			devices[index]?.send(reportWithVolume(7, id));
			devices[index]?.send({ type: "ota_error", reason: "HTTP 404" });
		}
		const isLast = ({ type, message }: { type: string; message: unknown }) =>
			type === "device_message" && JSON.stringify(message).includes("404");
		await client.until(isLast);
		for (const id of [first, second]) assert.equal((await watcher.until(isLast)).deviceId, id);
		for (const { socket } of devices) socket.close();
		await client.until(({ reason }) => reason === "disconnected");
		const own = picture.frames.slice(before).filter(({ type }) => type !== "summary");
		for (const { deviceId, sessions } of own) assert.equal(deviceId ?? sessions?.[0]?.deviceId, second);
		const whats = own.map(({ type, reason }) => reason ?? type);
		assert.deepEqual(whats, ["device_message", "device_message", "ota", "disconnected"]);
	});

	test("receives the summary when it requests it, at most 20 times, then once a second", async (t) => {
		let now = 0;
		const gateway = await runGateway(t, { limits, monotonic: () => now });
		await gateway.reporting(await gateway.monitor(), first);
		const { picture, subscribe, assertCurrent } = await subscribed(gateway, [first], false);
		const frames = () => picture.frames.filter(({ type }) => type === "summary");
		const snapshots = () => frames().filter(({ reason }) => reason === "snapshot").length;
		assert.deepEqual(frames(), []);
		const switchOn = async () => {
			await subscribe({ summary: false });
			// Not in the summary, which has no subscriber.
			await gateway.api("PATCH", `/api/devices/${first}`, { name: `name ${snapshots()}` });
			return subscribe({ summary: true });
		};
		for (let time = 0; time < 20; time += 1) {
			assert.equal((await switchOn()).type, "ack");
			if (time < 2) await assertCurrent();
		}
		const { type, code, message } = await switchOn();
		const sentence = "summary limited to 1 a second; try again later";
		assert.deepEqual([type, code, message, snapshots()], ["error", "rate_limited", sentence, 20]);
		now += 1000;
		assert.equal((await switchOn()).type, "ack");
		await assertCurrent();
	});

	test("receives unidentified sessions, which are not in the summary", async (t) => {
		const gateway = await runGateway(t, { limits });
		const watcher = await gateway.monitor();
		const open = async () => ({ device: await gateway.device(), ...(await watcher.change("connected")) });
		const early = await open();
		const { client, picture } = await subscribed(gateway, []);
		const without = await subscribed(gateway, [], false);
		const records = picture.frames.filter(({ type }) => type === "status_update");
		const shown = records.map(({ reason, sessions }) => [reason, sessions.map(({ sessionId }) => sessionId)]);
		assert.deepEqual(shown, [["connected", [early.sessionId]]]);
		const late = await open();
		late.device.socket.terminate();
		for (const reason of ["connected", "disconnected"])
			assert.equal((await client.change(reason)).sessionId, late.sessionId);
		early.device.send(reportWithVolume(50, first));
		await watcher.change("identified");
		assert.equal((await client.next()).type, "summary");
		without.client.send({ type: "subscribe", summary: false, requestId: "last" });
		assert.equal((await without.client.next()).requestId, "last");
	});

	test("is notified of a forgotten device without a new snapshot", async (t) => {
		const gateway = await runGateway(t, { limits });
		const watcher = await gateway.monitor();
		for (const id of [first, second]) {
			(await gateway.reporting(watcher, id)).socket.close();
			await watcher.change("disconnected");
		}
		const { client, picture } = await subscribed(gateway, []);
		await gateway.api("DELETE", `/api/devices/${first}`);
		const { removed } = await client.until(({ type }) => type === "summary");
		assert.deepEqual(removed, [first]);
		assert.deepEqual([...picture.devices.keys()], [second]);
		await watcher.until(({ reason }) => reason === "snapshot");
		await gateway.api("PATCH", `/api/devices/${second}`, { name: "last" });
		await client.until(() => picture.devices.get(second)?.name === "last");
		const updates = picture.frames.filter(({ type }) => type === "status_update");
		for (const { reason } of updates) assert.notEqual(reason, "snapshot");
	});

	test("is rejected without a list of at most 200 ids", async (t) => {
		const monitor = await (await runGateway(t)).monitor();
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

describe("summary", () => {
	test("is sent four times a second with the changes, and not created without subscribers", (t) => {
		t.mock.timers.enable({ apis: ["setTimeout"] });
		let isNeeded = true;
		const { sessions, frames, open } = summarized(100, 10, { isNeeded: () => isNeeded });
		const opened = Array.from({ length: 100 }, (_, index) => open(`d${index}`));
		t.mock.timers.tick(250);
		const pass = () => {
			frames.length = 0;
			for (let time = 0; time < 1000; time += 10) {
				const device = opened[time % 7]?.device ?? assert.fail("no device");
				device.label = { name: `at ${time}` };
				sessions.announce(device.session, "labelled");
				t.mock.timers.tick(10);
			}
		};
		pass();
		assert.equal(frames.length, 4);
		for (const frame of frames) {
			const ids = JSON.parse(frame.toString()).devices.map(({ deviceId }: { deviceId: string }) => deviceId);
			assert.deepEqual(ids.sort(), ["d0", "d1", "d2", "d3", "d4", "d5", "d6"]);
		}
		isNeeded = false;
		pass();
		assert.equal(frames.length, 0);
	});

	test("is not sent for irrelevant reports, such as an RSSI change below 5 dB", (t) => {
		t.mock.timers.enable({ apis: ["setTimeout"] });
		const { sessions, frames, open } = summarized(1);
		const session = open("d0");
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

	test("is sent in frames of limited size: a snapshot with the number of remaining devices, changes with pauses", (t) => {
		t.mock.timers.enable({ apis: ["setTimeout"] });
		const { summary, frames, open } = summarized(100, 20_000);
		for (let index = 0; index < 100; index += 1) open(`d${index}`);
		const parts = [...summary.snapshot()];
		const snapshot = parts.map((text) => JSON.parse(text));
		for (const [index, { reason, remaining }] of snapshot.entries()) {
			const later = snapshot.slice(index + 1).flatMap(({ devices }) => devices).length;
			assert.deepEqual([reason, remaining], [index === 0 ? "snapshot" : "changed", later]);
		}
		assert.equal(snapshot.flatMap(({ devices }) => devices).length, 100);

		const seen = new Set<string>();
		for (let round = 1; seen.size < 100; round += 1) {
			t.mock.timers.tick(250);
			assert.equal(frames.length, round);
			for (const { deviceId } of JSON.parse(String(frames.at(-1))).devices) seen.add(deviceId);
		}
		t.mock.timers.tick(10_000);
		assert.equal(frames.length, Math.ceil(100 / 14), "and no more");
		for (const texts of [parts, frames]) {
			assert.ok(texts.length >= 7, `only ${texts.length} frames`);
			for (const { length } of texts) assert.ok(length < frameCharacters + 25_000, `${length}`);
		}
	});
});

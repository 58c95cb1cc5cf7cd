/** Contract tests of gateways on one bus, for each implementation of Bus. */

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { type Frame, reportWithVolume } from "../../support/running.js";
import { withField } from "../../support/sample-report.js";
import type { Buses } from "./bus-contract.js";
import { type Clustered, ofFleet, runClustered, runGateways, type Watch } from "./gateways.js";

const id = "dev-1-000001";
const other = "dev-1-000002";

/** @param make respects the test's timeout */
export function testCluster(name: string, make: (t: TestContext) => Promise<Buses>): void {
	const two = async (t: TestContext) => {
		const buses = await make(t);
		const [a, b] = await runGateways(t, buses, 2);
		return { a, b, buses };
	};
	const three = async (t: TestContext) => {
		const buses = await make(t);
		const [a, b, c] = await runGateways(t, buses, 3);
		return { a, b, c, buses };
	};

	describe(`${name}: device of another gateway`, () => {
		test("appears in snapshots, lists and its history as at its own gateway", ofFleet, async (t) => {
			const { a, b } = await two(t);
			const device = await a.join(id, { report: { "network.wifi_rssi": -61 } });
			const here = await a.watch();
			device.report({ "peripherals.audio.volume": 33 });
			await here.until(isReport(33));
			const [there, known] = [await b.watch(), await a.watch()];
			assert.deepEqual(there.snapshot.sessions, known.snapshot.sessions);
			assert.equal(volumeOf(there.snapshot.sessions[0]?.state), 33);
			for (const watch of [there, known]) watch.socket.terminate();
			const [details, own] = await bodies([b, a], `/api/devices/${id}`);
			assert.deepEqual(details, own);
			const [past, ownPast] = await bodies([b, a], `/api/devices/${id}/history`);
			assert.deepEqual([past.rssi.min, past.marks], [ownPast.rssi.min, ownPast.marks]);
			assert.match(JSON.stringify(past.rssi), /-61/);
		});

		test("receives commands of monitors, who receive its responses", async (t) => {
			const { a, b } = await two(t);
			const there = await b.watch();
			const device = await a.join(id);
			const { sessionId } = await there.change("connected", id);
			const set = (value: unknown, targetId = id) => ({
				type: "control_device",
				targetId,
				payload: { command: "set_volume", value },
				requestId: `v${value}`,
			});
			// The following report takes another path and may overtake the response.
			for (const value of [71, 72]) {
				const answer = { type: "ack", requestId: `v${value}`, command: "control_device", sessionId };
				there.send(set(value, value === 71 ? id : sessionId));
				await there.allOf(isReport(value), (frame) => isDeepStrictEqual(frame, answer));
			}
			assert.equal((await there.request(set(101))).code, "invalid_command");
			assert.equal((await there.request({ type: "trigger_ota", targetId: id })).code, "no_firmware");
			const expected = [71, 72].map((value) => ({ command: "set_volume", value }));
			assert.deepEqual(device.commands, expected);
			const boot = { type: "boot_device", targetId: sessionId };
			there.send(boot);
			const isBooted = ({ reason }: Frame) => reason === "boot";
			await there.allOf(({ type }) => type === "ack", isBooted);
			assert.equal((await there.request(boot)).code, "target_offline");
		});

		test("streams its live log to a subscribed monitor", ofFleet, async (t) => {
			const { a, b } = await two(t);
			const device = await a.join(id, { logLines: "first\n" });
			const there = await b.watch();
			await there.request({ type: "subscribe", summary: false, devices: [id] });
			const payload = { command: "set_log", level: "info", seconds: 60 };
			const isLog = (lines: string) => (frame: Frame) => fieldOf(frame.message, "lines") === lines;
			there.send({ type: "control_device", targetId: id, payload });
			await there.allOf(({ type }) => type === "ack", isLog("first\n"));
			device.log("second\n");
			await there.until(isLog("second\n"));
		});

		test("is shown only by its own gateway until identified", async (t) => {
			const { a, b } = await two(t);
			const [here, there] = [await a.watch(), await b.watch()];
			const device = await a.device();
			const nameless = await here.until(({ reason }) => reason === "connected");
			assert.equal(nameless.sessions[0]?.deviceId, null);
			device.send(reportWithVolume(5, id));
			const { sessionId } = await there.change("connected", id);
			assert.equal(sessionId, nameless.sessions[0]?.sessionId);
			assert.equal(there.told.filter(({ type }) => type === "status_update").length, 2);
			const second = await a.device();
			second.socket.close();
			await here.until(({ reason }) => reason === "disconnected");
			const { sessions } = (await b.watch()).snapshot;
			assert.deepEqual([sessions.length, sessions[0]?.deviceId], [1, id]);
		});
	});

	test(`${name}: a board with the id of another gateway's device is rejected with 4002`, async (t) => {
		const { a, b } = await two(t);
		const watch = await b.watch();
		const known = await a.device({ "Device-Id": id });
		known.send(reportWithVolume(8, id));
		await watch.until(isReport(8));
		const other = await b.device({ "Device-Id": id });
		other.send(withField(reportWithVolume(9, id), "system.mac_address", "02:00:00:00:00:09"));
		assert.equal((await other.closed).code, 4002);
	});

	describe(`${name}: device that moves to another gateway`, () => {
		test("is replaced, then connected, for all monitors; the previous connection closes with 4001", async (t) => {
			const { a, b, c } = await three(t);
			const watches = await Promise.all([a, b, c].map((gateway) => gateway.watch()));
			const first = await a.device({ "Device-Id": id });
			for (const watch of watches) await watch.change("connected", id);
			const second = await b.device({ "Device-Id": id });
			assert.deepEqual(await first.closed, { code: 4001, reason: "replaced" });
			second.send(reportWithVolume(8, id));
			for (const watch of watches) {
				await watch.until(isReport(8));
				assert.deepEqual(watch.reasons(id), ["connected", "replaced", "connected", "identified"]);
			}
			const back = await a.device({ "Device-Id": id });
			assert.equal((await second.closed).code, 4001);
			back.send(reportWithVolume(9, id));
			for (const watch of watches) {
				await watch.until(isReport(9));
				assert.deepEqual(watch.reasons(id).slice(4), ["replaced", "connected"]);
				assert.deepEqual(watch.snapshot.sessions, []);
			}
		});

		test("keeps its history and restarts after a disconnect", ofFleet, async (t) => {
			const { a, b } = await two(t);
			const watches = [await a.watch(), await b.watch()];
			(await a.join(id, { report: { "health.uptime_seconds": 50 } })).close();
			for (const watch of watches) await watch.change("disconnected", id);
			await b.join(id, { report: { "health.uptime_seconds": 3, "health.reset_reason": "PANIC_RESET" } });
			for (const watch of watches) {
				await watch.change("connected", id);
				await watch.until(isReport(50));
				assert.deepEqual(watch.reasons(id), ["connected", "identified", "disconnected", "connected"]);
			}
			for (const gateway of [a, b]) {
				const { resets } = (await gateway.api("GET", `/api/devices/${id}`)).body;
				assert.match(JSON.stringify(resets), /POWERON_RESET.*PANIC_RESET/);
			}
		});
	});

	describe(`${name}: reports`, () => {
		test("are relayed only to gateways whose monitors need them", ofFleet, async (t) => {
			const { a, b } = await two(t);
			const device = await a.join(id, { executesCommands: false });
			const far = await a.join(other);
			const here = await a.watch();
			const relay = async (volume: number) => {
				for (const sender of [device, far]) sender.report({ "peripherals.audio.volume": volume });
				await here.allOf(isReport(volume, id), isReport(volume, other));
			};
			await relay(1);
			assert.equal(await a.published("report"), 0);
			const there = await b.watch();
			there.send({ type: "subscribe", summary: true, devices: [other] });
			await there.until(isReport(1, other, "status_update"));
			await there.until(({ type }) => type === "ack");
			await settle(there);
			await relay(2);
			await there.until(isReport(2, other));
			assert.equal(await a.published("report"), 1);
			await there.request({ type: "subscribe", summary: true, devices: [] });
			await settle(there);
			await relay(3);
			assert.equal(await a.published("report"), 1);
			const all = await b.watch();
			await relay(4);
			await all.allOf(isReport(4, id), isReport(4, other));
			assert.notEqual(await a.published("report"), 1);
		});

		test("are relayed unchanged, once and in order, also relative to changes", async (t) => {
			const { a, b } = await two(t);
			const [here, there] = [await a.watch(), await b.watch()];
			const device = await a.join(id);
			for (let index = 0; index < 100; index += 1) {
				const version = `1.${Math.floor(index / 10)}.0`;
				device.report({ "peripherals.audio.volume": index, "system.firmware_version": version });
			}
			await here.until(isReport(99));
			for (const lines of ["1\n", "2\n", "3\n"]) device.log(lines);
			const texts: string[] = [];
			there.socket.on("message", (data) => texts.push(String(data)));
			const text = JSON.stringify({ ...reportWithVolume(100, id), more: ["ä", { 1: "\u2028" }] });
			device.sendText(text);
			await there.until(isReport(100));
			const isRelayed = texts.some((relayed) => relayed.includes(`"message":${text}`));
			assert.ok(isRelayed, `relayed as ${texts}`);
			device.close();
			const [told, toldThere] = await Promise.all(
				[here, there].map(async (watch) => {
					const { connected } = await watch.change("disconnected", id);
					assert.equal(connected, false);
					return watch.told.slice(1).map(({ type, reason, message }) => ({ type, reason, message }));
				}),
			);
			assert.equal(told?.filter(({ message }) => fieldOf(message, "type") === "state_report").length, 102);
			assert.deepEqual(toldThere, told);
		});

		test("of subscribed devices start with the latest, which others no longer keep", ofFleet, async (t) => {
			const { a, b } = await two(t);
			const device = await a.join(id);
			const here = await a.watch();
			const there = await b.watch();
			await there.request({ type: "subscribe", summary: false, devices: [] });
			for (const volume of [11, 12]) {
				device.report({ "peripherals.audio.volume": volume });
				await here.until(isReport(volume));
				there.send({ type: "subscribe", summary: false, devices: [id] });
				await there.until(isReport(volume, id, "status_update"));
				await there.until(({ type }) => type === "ack");
				await there.request({ type: "subscribe", summary: false, devices: [] });
			}
		});

		test("update the summary of other gateways", ofFleet, async (t) => {
			const { a, b } = await two(t);
			const device = await a.join(id, { executesCommands: false });
			const here = await a.watch();
			const there = await b.watch();
			await there.request({ type: "subscribe", summary: false });
			await settle(there);
			device.report({ "peripherals.audio.volume": 20 });
			await here.until(isReport(20));
			there.send({ type: "subscribe", summary: true });
			await there.until(isSummed(20));
			await settle(there);
			device.report({ "peripherals.audio.volume": 21 });
			await there.until(isSummed(21));
			assert.equal(await a.published("report"), 0);
		});
	});

	describe(`${name}: gateways`, () => {
		test("announce a shutdown, which disconnects their devices for the others", async (t) => {
			const { a, b } = await two(t);
			await a.join(id);
			const there = await b.watch("/monitor?cluster");
			assert.deepEqual(clusterOf(await there.until(isCluster)), [2, false]);
			await a.gateway.close();
			await there.change("disconnected", id);
			assert.deepEqual(clusterOf(await there.until(isCluster)), [1, false]);
		});

		test("lose their devices when lost, reported once, and regain them on return", async (t) => {
			const { a, b, c, buses } = await three(t);
			await a.join(id);
			await a.join(other);
			const [there, also] = [await b.watch("/monitor?cluster"), await c.watch()];
			assert.deepEqual(clusterOf(await there.until(isCluster)), [3, false]);
			await buses.cut(a.bus);
			for (const watch of [there, also]) await watch.change("disconnected", other);
			assert.deepEqual(there.reasons(id), ["disconnected"]);
			await buses.heal(a.bus);
			for (const watch of [there, also]) {
				await watch.change("connected", other);
				assert.deepEqual(watch.reasons(id), ["disconnected", "connected"]);
				assert.deepEqual(watch.reasons(other), ["disconnected", "connected"]);
			}
			const counts = there.told.filter(isCluster).map(clusterOf);
			const expected = [3, 2, 3].map((count) => [count, false]);
			assert.deepEqual(counts, expected);
		});

		test("serve and show only their own devices while cut off", async (t) => {
			const { a, b, buses } = await two(t);
			const device = await a.join(id);
			const here = await a.watch("/monitor?cluster");
			await buses.cut(a.bus);
			await here.until((frame) => isCluster(frame) && frame.alone === true);
			const payload = { command: "set_volume", value: 44 };
			assert.equal((await here.request({ type: "control_device", targetId: id, payload })).type, "ack");
			await here.until(isReport(44));
			const there = await b.watch("/monitor?cluster");
			await there.until((frame) => isCluster(frame) && frame.alone === true);
			await buses.heal(a.bus);
			const isTogether = (frame: Frame) => isCluster(frame) && frame.alone === false;
			await here.until(isTogether);
			await there.allOf(isTogether, ({ reason }) => reason === "connected");
			device.report({ "peripherals.audio.volume": 45 });
			await there.until(isReport(45));
		});

		test("load the devices of others, and what a first request needs, at first", ofFleet, async (t) => {
			const buses = await make(t);
			const a = await runClustered(t, await buses.connect());
			await a.join(id, { logLines: "first\n" });
			const b = await runClustered(t, await buses.connect());
			assert.equal((await b.api("GET", `/api/devices/${id}`)).body.connected, true);
			const monitor = await b.subscribe("");
			const payload = { command: "set_log", level: "info", seconds: 60 };
			monitor.send({ type: "control_device", targetId: id, payload });
			await monitor.until(({ message }) => fieldOf(message, "lines") === "first\n");
		});
	});
}

/** Responses of the gateways to a request. */
function bodies(gateways: readonly Clustered[], path: string) {
	return Promise.all(gateways.map(async (gateway) => (await gateway.api("GET", path)).body));
}

/** The device's gateway knows the required reports, which are announced in order with commands. */
async function settle(watch: Watch): Promise<void> {
	const payload = { command: "identify" };
	watch.send({ type: "control_device", targetId: id, payload, requestId: "settle" });
	assert.equal((await watch.until(({ requestId }) => requestId === "settle")).type, "ack");
}

function isReport(volume: number, deviceId = id, type = "device_message") {
	return (frame: Frame) => {
		if (frame.type !== type) return false;
		const [session] = frame.sessions ?? [];
		return session
			? session.deviceId === deviceId && volumeOf(session.state) === volume
			: frame.deviceId === deviceId && volumeOf(frame.message) === volume;
	};
}

function isSummed(volume: number) {
	return ({ type, devices }: Frame) =>
		type === "summary" && devices?.some((device) => device.volume === volume) === true;
}

function isCluster({ type }: Frame): boolean {
	return type === "cluster_update";
}

function clusterOf({ gateways, alone }: Frame) {
	return [gateways, alone];
}

function volumeOf(report: unknown): unknown {
	return Object(report).peripherals?.audio.volume;
}

function fieldOf(value: unknown, name: string): unknown {
	return Object(value)[name];
}

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { deviceTokenOf } from "../../../gateway/access/secrets.js";
import { ServerSocket } from "../../../gateway/sockets/server-socket.js";
import { nextEvent, waitUntil } from "../../support/eventually.js";
import { recordLog } from "../../support/recorded-log.js";
import {
	bearer,
	type Client,
	deviceToken,
	monitorToken,
	noRateLimits,
	openByHand,
	reportWithVolume,
	runGateway,
	runWatched,
	runWithDevice,
	upgradeRequest,
} from "../../support/running.js";
import { sampleReport, withField } from "../../support/sample-report.js";

const named = { "Device-Id": "dev-1-a1b2c3" };

describe("upgrade to /device", () => {
	test("is rejected with 400 and the name of an invalid header, but not of an unknown chip", async (t) => {
		const gateway = await runGateway(t);
		for (const [name, value] of [
			["Protocol-Version", "2"],
			["Device-Id", "../etc/passwd"],
			["Device-Id", "x".repeat(65)],
			["Device-Model", "DEV-2"],
		] as const) {
			const { status, body } = await gateway.rejected("/device", { ...bearer(deviceToken), [name]: value });
			assert.equal(status, 400);
			assert.ok(JSON.parse(body).detail.startsWith(`${name} must be`), body);
		}
		await gateway.device({ "Protocol-Version": "1", "Device-Chip": "esp32p9" });
	});

	test("returns the gateway's time for the device's clock", async (t) => {
		const now = Date.UTC(2026, 10, 27, 12);
		const gateway = await runGateway(t, { now: () => now });
		const socket = connect({ port: Number(new URL(gateway.url).port), host: "127.0.0.1" });
		t.after(() => socket.destroy());
		socket.write(upgradeRequest("/device", deviceToken));
		const [head] = await nextEvent(socket, "data");
		assert.match(String(head), /^HTTP\/1\.1 101 .*\r\nDate: Fri, 27 Nov 2026 12:00:00 GMT\r\n/s);
	});
});

describe("device frames", () => {
	test("close the socket if binary, above 64 KiB or not UTF-8", async (t) => {
		const { gateway, monitor } = await runWatched(t);
		const text = JSON.stringify(sampleReport("DEV-1"));
		const largest = await gateway.device(named);
		largest.send(text.padEnd(64 * 1024));
		await monitor.change("identified");
		for (const [bytes, binary, code] of [
			[Buffer.from(text), true, 1003],
			[Buffer.from(text.padEnd(64 * 1024 + 1)), false, 1009],
			[Buffer.from([0x22, 0xff, 0x22]), false, 1007],
		] as const) {
			const device = await gateway.device();
			device.socket.send(bytes, { binary });
			assert.equal((await device.closed).code, code);
			assert.equal((await monitor.change("disconnected")).state, null);
		}
	});

	test("are stored without fields of another model, which are counted", async (t) => {
		const { gateway, monitor, device } = await runWithDevice(t);
		await monitor.next();
		const report = reportWithVolume(33);
		const peripherals = { ...sampleReport("PROTO-1").peripherals, touch_active: "no" };
		device.send({ ...report, peripherals: { ...peripherals, ...sampleReport("DEV-1").peripherals } });
		device.send({ ...report, peripherals: { ...peripherals, audio: {} } });
		device.send(reportWithVolume(34));
		const expected = { ...report, peripherals: sampleReport("DEV-1").peripherals };
		assert.deepEqual((await monitor.next()).message, expected);
		assert.deepEqual((await monitor.next()).message, reportWithVolume(34));
		const metrics = await gateway.metrics();
		assert.match(metrics, /^gateway_left_out_fields_total 3$/m);
		assert.match(metrics, /^gateway_dropped_uplinks_total 1$/m);
	});

	test("are dropped if invalid, without ending the session", async (t) => {
		const { monitor, device } = await runWithDevice(t);
		await monitor.next();
		const otherReport = withField(sampleReport("DEV-1"), "deviceId", "another-device");
		for (const message of ["", "nonsense", "[".repeat(60_000), reportWithVolume(101), otherReport])
			device.send(message);
		device.send(reportWithVolume(7));
		assert.deepEqual((await monitor.next()).message, reportWithVolume(7));
	});

	test("close with 1008 after 20 invalid ones within a minute", async (t) => {
		let now = 0;
		const { monitor, device } = await runWithDevice(t, { monotonic: () => now });
		await monitor.next();
		const send19 = async () => {
			for (let i = 0; i < 19; i += 1) device.send(i % 2 ? "nonsense" : reportWithVolume(101));
			device.send(reportWithVolume(1));
			await monitor.until(({ type }) => type === "device_message");
		};
		await send19();
		now += 60_000;
		await send19();
		device.send("nonsense");
		assert.equal((await device.closed).code, 1008);
		await monitor.change("disconnected");
	});

	test("close with 1008 if they name a device that an extension rejects", async (t) => {
		const rejectionOf = (deviceId: string) => (deviceId === "dev-1-a1b2c3" ? "It was replaced." : undefined);
		const gateway = await runGateway(t, { extensions: [() => ({ rejectionOf })] });
		const device = await gateway.device();
		device.send(sampleReport("DEV-1"));
		assert.deepEqual(await device.closed, { code: 1008, reason: "device rejected" });
		const { body } = await gateway.rejected("/device", { ...bearer(deviceToken), ...named });
		assert.match(body, /It was replaced/);
	});

	test("close with 1008 if they name another device than the token", async (t) => {
		const { gateway, monitor } = await runWatched(t);
		for (const message of [
			reportWithVolume(5, "dev-1-000002"),
			{ type: "command_error", deviceId: "dev-1-000002", command: "x", code: "busy", message: "wait" },
		]) {
			const device = await gateway.device(bearer(deviceTokenOf(deviceToken, "dev-1-a1b2c3")));
			device.send(message);
			const reason = "this token is valid for dev-1-a1b2c3 only";
			assert.deepEqual(await device.closed, { code: 1008, reason });
			await monitor.change("connected");
			assert.equal((await monitor.next()).reason, "disconnected");
		}
	});
});

describe("device connection", () => {
	test("ends when pings go unanswered, like that of a monitor", async (t) => {
		const gateway = await runGateway(t, { limits: { pingIntervalMs: 20 } });
		const device = await gateway.device(named, { autoPong: false });
		const monitor = await gateway.open("/monitor", { headers: bearer(monitorToken), autoPong: false });
		assert.deepEqual([(await device.closed).code, (await monitor.closed).code], [1006, 1006]);
	});

	test("gets unsolicited pongs while it reports, and stays open", async (t) => {
		const gateway = await runGateway(t, { limits: { pingIntervalMs: 100, unansweredPings: 1 } });
		const device = await gateway.device(named, { autoPong: false });
		const end = new AbortController();
		device.socket.on("close", () => end.abort());
		const reporting = setInterval(() => device.send(reportWithVolume(1)), 10);
		t.after(() => clearInterval(reporting));
		for (let pongs = 0; pongs < 3; pongs += 1) await nextEvent(device.socket, "pong", end);
	});

	test("ends if the device reads nothing", async (t) => {
		const { monitor, device, session } = await runWithDevice(t, {
			limits: { deviceBacklogBytes: 64 * 1024 },
		});
		const payload = { command: "query_state" };
		const command = { type: "control_device", targetId: session.sessionId, payload };
		let unread = 64 * 1024;
		t.mock.getter(ServerSocket.prototype, "bufferedAmount", () => unread);
		assert.equal((await monitor.request(command)).type, "ack");
		unread += 1;
		await monitor.request(command);
		assert.equal((await monitor.request(command)).code, "target_offline");
		assert.equal((await device.closed).code, 1006);
	});

	test("accepts no command once the device has started closing", async (t) => {
		const { gateway, monitor } = await runWatched(t, { limits: { closeTimeoutMs: 600_000 } });
		const port = Number(new URL(gateway.url).port);
		const socket = await openByHand(t, port, "/device", deviceToken);
		const { sessionId: targetId } = await monitor.change("connected");
		const said = once(socket, "data");
		// Close frame with 1000; it is answered, and the connection stays open.
		socket.write(Buffer.from("88820000000003e8", "hex"));
		await said;
		for (const message of [
			{ type: "control_device", targetId, payload: { command: "set_volume", volume: 1 } },
			{ type: "boot_device", targetId },
		])
			assert.equal((await monitor.request(message)).code, "target_offline");
	});

	test("closes with 1012 and a reconnect time in batches when the gateway stops, after monitors with 1001", async (t) => {
		const { lines, log } = recordLog();
		const gateway = await runGateway(t, { log, limits: { ...noRateLimits.limits, devicesASecond: 20 } });
		const devices: Client[] = [];
		for (let index = 0; index < 60; index += 1) devices.push(await gateway.device());
		const monitor = await gateway.monitor();
		const frames: string[] = [];
		monitor.socket.on("message", (data) => frames.push(String(data)));
		const { mock } = t.mock.method(ServerSocket.prototype, "close");
		const closed = () => mock.calls.filter(({ arguments: [code] }) => code === 1012).length;
		const stopped = gateway.gateway.close();
		await waitUntil(() => closed() > 0, setImmediate);
		assert.equal(closed(), 50, "closed in the first batch");
		for (const { closed } of devices) {
			const { code, reason } = await closed;
			assert.match(`${code} ${reason}`, /^1012 retry in [3-6] s$/);
		}
		assert.deepEqual([(await monitor.closed).code, frames], [1001, []]);
		await stopped;
		const ended = lines.filter(({ msg }) => msg === "device: disconnected");
		assert.deepEqual([ended.length, lines.at(-1)?.msg], [60, "stopped"]);
	});

	test("is terminated if its close frame is not answered", async (t) => {
		// The default timeouts would exceed the test's.
		for (const limits of [{ deviceCloseTimeoutMs: 50, closeTimeoutMs: 600_000 }, { closeTimeoutMs: 50 }]) {
			const gateway = await runGateway(t, { limits });
			const device = await gateway.device(named);
			device.socket.pause();
			await gateway.gateway.close();
		}
	});

	test("gets a reconnect time if opened while draining, and /readyz reports it", async (t) => {
		const gateway = await runGateway(t, { limits: { deviceCloseTimeoutMs: 30_000, closeTimeoutMs: 30_000 } });
		const device = await gateway.device(named);
		device.socket.pause();
		const stopped = gateway.gateway.close();
		const { status, headers, body } = await gateway.rejected("/device", bearer(deviceToken));
		assert.deepEqual([status, headers["retry-after"]], [503, "3"]);
		assert.match(body, /The gateway is stopping; try again in 3 s\./);
		const ready = await gateway.api("GET", "/readyz");
		assert.equal(ready.status, 503);
		assert.match(ready.text, /The gateway is stopping/);
		device.socket.resume();
		await stopped;
	});
});

describe("device that sends too many messages", () => {
	const busy = (device: Client) => {
		for (let volume = 0; volume < 20; volume += 1) device.send(reportWithVolume(volume));
	};
	const volumes = async (monitor: Client, count: number) => {
		const seen: unknown[] = [];
		while (seen.length < count)
			seen.push((await monitor.until(({ type }) => type === "device_message")).message);
		return seen;
	};
	const reports = Array.from({ length: 20 }, (_, volume) => reportWithVolume(volume));

	test("does not time out while throttled", async (t) => {
		// The heartbeat needs a running clock; at one message per second a later message waits until it jumps.
		let jumpMs = 0;
		const { gateway, monitor } = await runWatched(t, {
			monotonic: () => performance.now() + jumpMs,
			limits: { uplinksASecond: 1, uplinkBurst: 1, pingIntervalMs: 20, unansweredPings: 2 },
		});
		const device = await gateway.device(named, { autoPong: false });
		const pong = () => device.socket.pong();
		device.socket.on("ping", pong);
		for (const report of reports.slice(0, 2)) {
			device.send(report);
			assert.deepEqual(await volumes(monitor, 1), [report]);
		}
		device.send(reports[2]);
		device.socket.off("ping", pong);
		for (let pings = 0; pings < 6; pings += 1)
			await Promise.race([once(device.socket, "ping"), device.closed]);
		assert.equal(device.socket.readyState, device.socket.OPEN);
		assert.match(
			await gateway.metrics(),
			/^gateway_uplinks_total\{type="state_report"\} 2$/m,
			"the third is delayed",
		);
		jumpMs += 10_000;
		assert.deepEqual(await volumes(monitor, 1), reports.slice(2, 3));
		assert.equal((await device.closed).code, 1006);
	});

	test("loses no message if it closes while throttled", async (t) => {
		const { gateway, monitor } = await runWatched(t, { limits: { uplinkBurst: 5, uplinksASecond: 100 } });
		const device = await gateway.device(named);
		busy(device);
		device.send({ type: "ota_error", reason: "out of memory" });
		device.socket.close(1000);
		assert.deepEqual(await volumes(monitor, 20), reports);
		assert.equal((await monitor.change("ota")).metadata.otaStatus, "failed");
		await monitor.change("disconnected");
	});

	test("performs the closing handshake of a replaced connection, whose messages are ignored, and when the gateway stops", async (t) => {
		const { lines, log } = recordLog("debug");
		const { gateway, monitor } = await runWatched(t, { log, monotonic: () => 0, limits: { uplinkBurst: 5 } });
		for (const reason of ["connected", "replaced"]) {
			const device = await gateway.device(named);
			await monitor.change(reason);
			// More than one read.
			for (let round = 0; round < 20; round += 1) busy(device);
			assert.deepEqual(await volumes(monitor, 5), reports.slice(0, 5));
		}
		await gateway.gateway.close();
		const codes = lines.flatMap(({ msg, code }) => (msg === "device socket closed" ? [code] : []));
		assert.deepEqual(codes.sort(), [1012, 4001], "1006: without a closing handshake");
	});

	test("is logged once", async (t) => {
		const { lines, log } = recordLog();
		let now = 0;
		const limits = { uplinkBurst: 18, uplinksASecond: 1000 };
		const { gateway, monitor } = await runWatched(t, { log, limits, monotonic: () => now });
		const device = await gateway.device(named);
		for (let round = 0; round < 3; round += 1) {
			busy(device);
			await volumes(monitor, 18);
			now += 1000;
			await volumes(monitor, 2);
			now += 1000;
		}
		assert.equal(lines.filter(({ msg }) => String(msg).includes("uplink rate limit exceeded")).length, 1);
	});
});

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CreateExtension } from "../../../gateway/extension.js";
import { socketLimits } from "../../../gateway/limits.js";
import { sampleReport } from "../../../scripts/api/sample-report.js";
import { waitUntil } from "../../support/eventually.js";
import { recordLog } from "../../support/recorded-log.js";
import { reportWithVolume, runGateway, runWatched, runWithDevice } from "../../support/running.js";

const id = "dev-1-a1b2c3";
const control = (payload: unknown, targetId = id) => ({ type: "control_device", targetId, payload });
const boot = { type: "boot_device", targetId: "unknown" };

describe("control_device", () => {
	test("forwards the fields of a command's schema to a session or device, and acknowledges it", async (t) => {
		const { monitor, device, session } = await runWithDevice(t);
		const { sessionId } = session;
		const payload = { command: "start_ota", url: "http://127.0.0.1/a.bin", cert_pem: "PEM" };
		const ack = { type: "ack", command: "control_device", sessionId };
		const message = { ...control(payload, sessionId), requestId: "r1" };
		assert.deepEqual(await monitor.request(message), { ...ack, requestId: "r1" });
		assert.deepEqual(await device.next(), payload);
		const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
		const answer = await monitor.request(
			`{"type":"control_device","targetId":"${id}","payload":{"command":"set_volume","value":5,"__proto__":{"x":1},"x":${deep}}}`,
		);
		assert.deepEqual(answer, ack);
		assert.equal(await device.nextText(), '{"command":"set_volume","value":5}');
	});

	test("sends a command only to a device with its feature", async (t) => {
		const { gateway, monitor } = await runWatched(t);
		const payload = { command: "identify" };
		for (const [deviceId, named, expected] of [
			["dev-1-000001", {}, "unsupported_command"],
			["dev-1-000002", { "Device-Features": "diagnostics" }, "unsupported_command"],
			["dev-1-000003", { "Device-Features": "diagnostics, other, identify" }, undefined],
		] as const) {
			const device = await gateway.device({ "Device-Id": deviceId, ...named });
			const { features } = await monitor.change("connected");
			assert.deepEqual(features, expected ? [] : ["identify"]);
			const { code, message } = await monitor.request(control(payload, deviceId));
			assert.equal(code, expected, deviceId);
			if (expected) assert.match(String(message), /does not support identify; update it/);
			else assert.deepEqual(await device.next(), payload);
		}
	});

	test("sends new settings only to their device, unredacted", async (t) => {
		const { lines, log } = recordLog("debug");
		const gateway = await runGateway(t, { log });
		const [monitor, other] = [await gateway.monitor(), await gateway.monitor()];
		const device = await gateway.device({ "Device-Id": id, "Device-Features": "settings" });
		await monitor.change("connected");
		const value = { ssid: "workshop", password: "secret one", token: "secret-two" };
		const command = "set_settings";
		const answer = await monitor.request(control({ command, value, x: 1 }));
		assert.equal(answer.type, "ack");
		assert.deepEqual(await device.next(), { command, value });
		const rejected = await monitor.request(control({ command, value: { ...value, tokn: "secret-three" } }));
		assert.equal(rejected.code, "invalid_command");
		const names = /at least one of ssid, password, ssid2, password2, gateway, token, ca, sntp, and nothing/;
		assert.match(String(rejected.message), names);
		const without = await monitor.request(control({ command, value: { ...value, password: "short" } }));
		assert.equal(without.code, "invalid_command");

		device.send({ type: "settings_result", deviceId: id, outcome: "kept" });
		for (const watcher of [monitor, other]) {
			let text = "";
			while (!text.includes("settings_result")) {
				text = await watcher.nextText();
				assert.doesNotMatch(text, /secret/);
			}
		}
		assert.doesNotMatch(`${JSON.stringify([answer, rejected, without])} ${JSON.stringify(lines)}`, /secret/);
		assert.notEqual(lines.length, 0);
	});
});

describe("boot_device", () => {
	test("closes the device's socket with 1000, and notifies each monitor once", async (t) => {
		const { gateway, monitor } = await runWatched(t);
		const other = await gateway.monitor();
		const { device, session } = await gateway.namedDevice(monitor);
		monitor.send({ type: "boot_device", targetId: session.sessionId, requestId: "b" });
		assert.equal((await device.closed).code, 1000);
		for (const client of [monitor, other]) {
			const booted = await client.change("boot");
			assert.deepEqual([booted.sessionId, booted.connected], [session.sessionId, false]);
		}
		const answer = await monitor.next();
		assert.deepEqual([answer.type, answer.requestId, answer.command], ["ack", "b", "boot_device"]);
		await gateway.device({ "Device-Id": id });
		assert.equal((await other.next()).reason, "connected");
	});
});

test("a closing socket of a device is no longer read, that of a monitor no longer served", async (t) => {
	const { gateway, monitor, device, session } = await runWithDevice(t);
	const message = { type: "boot_device", targetId: session.sessionId };
	const closing = await gateway.monitor();
	closing.socket.send(Buffer.from("{}"), { binary: true });
	closing.send(message);
	await closing.closed;
	assert.equal((await monitor.request(control({ command: "query_state" }))).type, "ack");
	device.socket.pause();
	await monitor.request(message);
	device.send(reportWithVolume(99));
	device.socket.resume();
	await device.closed;
	assert.equal((await monitor.request(boot)).code, "unknown_target");
});

test("trigger_ota forwards device and version to the firmware service, and returns its rejection or failure", async (t) => {
	const asked: unknown[] = [];
	const stub: CreateExtension = ({ firmware: { updates } }) => {
		const trigger: typeof updates.trigger = async ({ deviceId, model }, version) => {
			if (version === "broken") throw new Error("disk");
			asked.push([deviceId, model, version]);
			return version ? { code: "unknown_version", message: "no such release" } : undefined;
		};
		t.mock.method(updates, "trigger", trigger);
		return {};
	};
	const { gateway, monitor, session } = await runWithDevice(t, { extensions: [stub] });
	const ota = { type: "trigger_ota", targetId: session.sessionId };
	assert.equal((await monitor.request(ota)).type, "ack");
	const rejected = await monitor.request({ ...ota, version: "9.9.9" });
	assert.deepEqual([rejected.code, rejected.message], ["unknown_version", "no such release"]);
	assert.equal((await monitor.request({ ...ota, version: "broken" })).code, "no_firmware");
	const expected = [undefined, "9.9.9"].map((version) => [id, "DEV-1", version]);
	assert.deepEqual(asked, expected);
	await gateway.device();
	const { sessionId: targetId } = await monitor.change("connected");
	assert.equal((await monitor.request({ ...ota, targetId })).code, "unknown_target", "unidentified");
});

describe("monitor message", () => {
	test("that cannot be executed gets an error with the reason, and sends nothing to the device", async (t) => {
		const { gateway, monitor, device } = await runWithDevice(t);
		(await gateway.device({ "Device-Id": "away" })).socket.close();
		await monitor.change("disconnected");
		for (const [message, code, reason] of [
			["{", "invalid_json"],
			["", "invalid_json"],
			["[".repeat(60_000), "invalid_json"],
			["null", "invalid_message"],
			["[]", "invalid_message"],
			[{}, "invalid_message"],
			[{ type: 1 }, "invalid_message"],
			[{ type: "reboot" }, "unknown_type"],
			[{ type: "toString" }, "unknown_type"],
			['{"__proto__":{"type":"boot_device","targetId":"x"}}', "invalid_message"],
			[{ type: "boot_device" }, "invalid_message"],
			[{ type: "boot_device", targetId: 5 }, "invalid_message"],
			[{ type: "boot_device", targetId: id, requestId: "x".repeat(65) }, "invalid_message"],
			[{ type: "boot_device", targetId: id, requestId: 5 }, "invalid_message"],
			[{ type: "trigger_ota", targetId: id, version: 2 }, "invalid_message"],
			[boot, "unknown_target"],
			[{ ...boot, targetId: "__proto__" }, "unknown_target"],
			[{ ...boot, targetId: "away" }, "target_offline"],
			[{ type: "trigger_ota", targetId: "away" }, "target_offline"],
			[control({ command: "set_volume", value: 101 }), "invalid_command", /value must be an integer from 0/],
			[control({ command: "explode" }), "invalid_command", /command must be one of set_volume/],
			[control({ command: "set_haptics", value: 1 }), "unsupported_command", /exists on PROTO-1/],
			[control("query_state"), "invalid_message", /payload must be an object/],
			[control(undefined), "invalid_message", /payload is missing/],
		] as const) {
			const isObject = typeof message === "object";
			const hasId = isObject && !("requestId" in message);
			const answer = await monitor.request(hasId ? { ...message, requestId: "q" } : message);
			const expected = ["error", code, hasId ? "q" : undefined];
			assert.deepEqual([answer.type, answer.code, answer.requestId], expected, JSON.stringify(message));
			assert.match(String(answer.message), reason ?? /.{11}/);
		}
		await monitor.request(control({ command: "query_state" }));
		assert.deepEqual(await device.next(), { command: "query_state" });
	});

	test("closes with 1003 if binary, with 1009 above 64 KiB", async (t) => {
		// The gateway stops reading at an oversized frame, so it does not see the client's close frame.
		const gateway = await runGateway(t, { limits: { closeTimeoutMs: 1000 } });
		const binary = await gateway.monitor();
		binary.socket.send(Buffer.from("{}"), { binary: true });
		assert.equal((await binary.closed).code, 1003);
		const large = await gateway.monitor();
		large.send(" ".repeat(64 * 1024 + 1));
		assert.equal((await large.closed).code, 1009);
	});

	test("is rate_limited above a burst of 100 and 50 per second", async (t) => {
		let now = 0;
		const { gateway, monitor } = await runWatched(t, { monotonic: () => now });
		const codes = async (count: number) => {
			for (let i = 0; i < count; i += 1) monitor.send(boot);
			const answers: Record<string, number> = {};
			for (let i = 0; i < count; i += 1) {
				const { code } = await monitor.next();
				answers[code] = (answers[code] ?? 0) + 1;
			}
			return answers;
		};
		assert.deepEqual(await codes(110), { unknown_target: 100, rate_limited: 10 });
		now += 1000;
		assert.deepEqual(await codes(60), { unknown_target: 50, rate_limited: 10 });
		const other = await gateway.monitor();
		assert.equal((await other.request(boot)).code, "unknown_target");
	});
});

test("closes with 1008 a monitor that continues after many rejections", async (t) => {
	const gateway = await runGateway(t, { monotonic: () => 0 });
	const [monitor, other] = [await gateway.monitor(), await gateway.monitor()];
	const { commandBurst, rejectionBurst } = socketLimits;
	for (let count = 0; count < commandBurst + rejectionBurst + 10; count += 1) monitor.send("x");
	assert.deepEqual(await monitor.closed, { code: 1008, reason: "too many messages" });
	assert.equal((await other.request("x")).code, "invalid_json");
});

describe("ping and pong frames", () => {
	for (const kind of ["ping", "pong"] as const)
		test(`close the socket: ${kind}s above a burst of 100`, async (t) => {
			const gateway = await runGateway(t, { monotonic: () => 0 });
			for (const { socket, closed } of [await gateway.device(), await gateway.monitor()]) {
				for (let count = 0; count < 2 * socketLimits.controlFrameBurst; count += 1) socket[kind]();
				const { code, reason } = await closed;
				// A client that sends pings may lose its connection before it reads the close frame.
				if (kind === "pong") assert.deepEqual([code, reason], [1008, "too many ping or pong frames"]);
			}
		});

	test("are allowed in small numbers", async (t) => {
		const { monitor } = await runWatched(t, { monotonic: () => 0 });
		for (let count = 0; count < socketLimits.controlFrameBurst; count += 1) monitor.socket.pong();
		assert.equal((await monitor.request("x")).code, "invalid_json");
	});

	test("close the socket if a message has many fragments", async (t) => {
		const gateway = await runGateway(t);
		const device = await gateway.device();
		for (let count = 0; count < 300; count += 1) device.socket.send("", { fin: false });
		assert.equal((await device.closed).code, 1008);
	});
});

test("complete the closing handshake of a rate-limited monitor", async (t) => {
	// Close code of the monitor at the gateway: 1006 without a closing handshake.
	const { lines, log } = recordLog();
	const limits = { commandBurst: 1, commandsASecond: 1, closeTimeoutMs: 30_000 };
	const { gateway, monitor } = await runWatched(t, { log, monotonic: () => 0, limits });
	// More than one read.
	for (let count = 0; count < 20; count += 1) monitor.send("x".repeat(60_000));
	await monitor.until(({ code }) => code === "rate_limited");
	await gateway.gateway.close();
	const ended = () => lines.find(({ msg }) => msg === "monitor disconnected");
	await waitUntil(ended);
	assert.equal(ended()?.code, 1001);
});

test("stores a report without its unknown fields if they take more than 4 KB", async (t) => {
	const report = sampleReport("DEV-1");
	const newer = { ...report, health: { ...report.health, extra: "x".repeat(3500) }, more: [1, { a: 2 }] };
	const health = { ...report.health, health: { health: "x".repeat(3000) } };
	const gateway = await runGateway(t);
	const watching = await gateway.monitor();
	const device = await gateway.device();
	for (const [sent, kept] of [
		[newer, newer],
		[{ ...report, health, more: "y".repeat(50_000) }, report],
	]) {
		device.send(sent);
		await watching.until(({ type }) => type === "device_message");
		assert.deepEqual((await gateway.monitor()).snapshot.sessions[0]?.state, kept);
	}
});

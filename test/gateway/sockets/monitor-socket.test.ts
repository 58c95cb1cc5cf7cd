import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CreateFirmwareService, FirmwareService } from "../../../gateway/firmware/service.js";
import { socketLimits } from "../../../gateway/limits.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { sampleReport } from "../../../scripts/api/sample-report.js";
import { reportWithVolume, runGateway, withoutFirmware } from "../../support/running.js";

/** Firmware service with only these updates. */
function firmwareWith(updates: Partial<FirmwareService["updates"]>): CreateFirmwareService {
	return () => {
		const service = withoutFirmware();
		return { ...service, updates: { ...service.updates, ...updates } };
	};
}

describe("control_device", () => {
	test("forwards a valid command to the device and acknowledges it", async (t) => {
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		const { device, session } = await gateway.namedDevice(monitor);
		const commands = [
			{ command: "set_volume", value: 40 },
			{ command: "query_state" },
			{ command: "set_led", value: "failed" },
			{ command: "play_audio", value: "startup" },
			{ command: "set_brightness", value: 0.25 },
			{ command: "start_ota", url: "http://127.0.0.1/a.bin", cert_pem: "PEM" },
		];
		for (const payload of commands) {
			const message = { type: "control_device", targetId: session.sessionId, payload, requestId: "r1" };
			assert.deepEqual(await monitor.request(message), {
				type: "ack",
				requestId: "r1",
				command: "control_device",
				sessionId: session.sessionId,
			});
			assert.deepEqual(await device.next(), payload);
		}
	});

	test("rejects what the model does not support, and sends nothing to the device", async (t) => {
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		const { device, session } = await gateway.namedDevice(monitor);
		const control = (payload: unknown) =>
			monitor.request({ type: "control_device", targetId: session.sessionId, payload });
		for (const [payload, code, message] of [
			[{ command: "set_volume", value: 101 }, "invalid_command", /value must be an integer from 0 to 100/],
			[{ command: "set_volume" }, "invalid_command", /value is missing/],
			[{ command: "explode" }, "invalid_command", /command must be one of set_volume/],
			[{}, "invalid_command", /command must be one of/],
			[{ command: "set_haptics", value: 1 }, "unsupported_command", /PROTO-1 only/],
			["query_state", "invalid_message", /payload must be an object/],
			[undefined, "invalid_message", /payload is missing/],
		] as const) {
			const answer = await control(payload);
			assert.deepEqual([answer.type, answer.code], ["error", code], JSON.stringify(payload));
			assert.match(String(answer.message), message);
		}
		await control({ command: "query_state" });
		assert.deepEqual(await device.next(), { command: "query_state" });
	});

	test("sends a command only to a device with its feature", async (t) => {
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		const payload = { command: "identify" };
		for (const [deviceId, named, expected] of [
			["dev-1-000001", undefined, "unsupported_command"],
			["dev-1-000002", "diagnostics", "unsupported_command"],
			["dev-1-000003", "diagnostics, other, identify", "ack"],
		] as const) {
			const device = await gateway.device({
				"Device-Id": deviceId,
				...(named && { "Device-Features": named }),
			});
			const { features } = await monitor.change("connected");
			assert.deepEqual(features, named?.includes("identify") ? ["identify"] : []);
			const answer = await monitor.request({ type: "control_device", targetId: deviceId, payload });
			assert.equal(answer.code ?? answer.type, expected, deviceId);
			if (expected === "ack") assert.deepEqual(await device.next(), payload);
			else assert.match(String(answer.message), /does not support identify; update it/);
		}
	});

	test("sends new settings only to their device, unredacted", async (t) => {
		const lines: string[] = [];
		const gateway = await runGateway(t, {
			log: createLog("debug", { write: (line) => void lines.push(line) }),
		});
		const monitor = await gateway.monitor();
		const other = await gateway.monitor();
		const headers = { "Device-Id": "dev-1-000001", "Device-Features": "settings" };
		const device = await gateway.device(headers);
		await monitor.change("connected");
		const value = { ssid: "workshop", password: "secret one", token: "secret-two" };
		const control = (payload: object) =>
			monitor.request({ type: "control_device", targetId: "dev-1-000001", payload });
		const answer = await control({ command: "set_settings", value, x: 1 });
		assert.equal(answer.type, "ack");
		assert.deepEqual(await device.next(), { command: "set_settings", value });
		const refused = await control({ command: "set_settings", value: { ...value, tokn: "secret-three" } });
		assert.equal(refused.code, "invalid_command");
		assert.match(
			String(refused.message),
			/at least one of ssid, password, ssid2, password2, gateway, token, ca, sntp, and nothing/,
		);
		const without = await control({ command: "set_settings", value: { ...value, password: "short" } });
		assert.equal(without.code, "invalid_command");

		const result = { type: "settings_result", deviceId: "dev-1-000001", outcome: "kept" };
		device.send(result);
		for (const watcher of [monitor, other]) {
			let text = "";
			while (!text.includes("settings_result")) {
				text = await watcher.nextText();
				assert.doesNotMatch(text, /secret/);
			}
		}
		assert.doesNotMatch(`${JSON.stringify([answer, refused, without])} ${lines.join("")}`, /secret/);
		assert.notEqual(lines.length, 0);
	});

	test("forwards only fields of the schema, to a device id", async (t) => {
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		const { device, session } = await gateway.namedDevice(monitor, "PROTO-1");
		const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
		const answer = await monitor.request(
			`{"type":"control_device","targetId":"${session.deviceId}","payload":{"command":"set_haptics","value":5,"__proto__":{"x":1},"x":${deep}}}`,
		);
		assert.deepEqual(answer, { type: "ack", command: "control_device", sessionId: session.sessionId });
		assert.equal(await device.nextText(), '{"command":"set_haptics","value":5}');
	});
});

describe("boot_device", () => {
	test("closes the device's socket with 1000, and notifies each monitor once", async (t) => {
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		const other = await gateway.monitor();
		const { device, session } = await gateway.namedDevice(monitor);
		monitor.send({ type: "boot_device", targetId: session.sessionId, requestId: "b" });
		assert.equal((await device.closed).code, 1000);
		for (const each of [monitor, other]) {
			const booted = await each.change("boot");
			assert.deepEqual([booted.sessionId, booted.connected], [session.sessionId, false]);
		}
		const answer = await monitor.next();
		assert.deepEqual([answer.type, answer.requestId, answer.command], ["ack", "b", "boot_device"]);
		await gateway.device({ "Device-Id": "dev-1-a1b2c3" });
		assert.equal((await other.next()).reason, "connected");
	});
});

describe("closing socket", () => {
	test("of a device is no longer read", async (t) => {
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		const { device, session } = await gateway.namedDevice(monitor);
		device.socket.pause();
		await monitor.request({ type: "boot_device", targetId: session.sessionId });
		device.send(reportWithVolume(99));
		device.socket.resume();
		await device.closed;
		monitor.send({ type: "boot_device", targetId: "unknown" });
		assert.equal((await monitor.next()).code, "unknown_target");
	});

	test("of a monitor is no longer served", async (t) => {
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		const other = await gateway.monitor();
		const { session } = await gateway.namedDevice(other);
		monitor.socket.send(Buffer.from("{}"), { binary: true });
		monitor.send({ type: "boot_device", targetId: session.sessionId });
		await monitor.closed;
		const payload = { command: "query_state" };
		const answer = await other.request({ type: "control_device", targetId: session.sessionId, payload });
		assert.equal(answer.type, "ack");
	});
});

describe("trigger_ota", () => {
	test("forwards device and version to the firmware service, and returns its rejection or failure", async (t) => {
		const asked: unknown[] = [];
		const createFirmware = firmwareWith({
			trigger: async ({ deviceId, model }, version) => {
				if (version === "broken") throw new Error("disk");
				asked.push([deviceId, model, version]);
				return version ? { code: "unknown_version", message: "no such release" } : undefined;
			},
		});
		const gateway = await runGateway(t, { createFirmware });
		const monitor = await gateway.monitor();
		const { session } = await gateway.namedDevice(monitor);
		const ota = { type: "trigger_ota", targetId: session.sessionId };
		assert.equal((await monitor.request(ota)).type, "ack");
		const refused = await monitor.request({ ...ota, version: "9.9.9" });
		assert.deepEqual([refused.code, refused.message], ["unknown_version", "no such release"]);
		assert.equal((await monitor.request({ ...ota, version: "broken" })).code, "no_firmware");
		assert.deepEqual(asked, [
			["dev-1-a1b2c3", "DEV-1", undefined],
			["dev-1-a1b2c3", "DEV-1", "9.9.9"],
		]);
	});

	test("requires the device id", async (t) => {
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		await gateway.device();
		const { sessionId } = await monitor.change("connected");
		const answer = await monitor.request({ type: "trigger_ota", targetId: sessionId });
		assert.equal(answer.code, "unknown_target");
	});
});

describe("monitor message", () => {
	test("that cannot be executed gets an error with the reason", async (t) => {
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		const { device, session } = await gateway.namedDevice(monitor);
		device.socket.close();
		await monitor.change("disconnected");
		const { sessionId } = session;
		const target = { targetId: "unknown", requestId: "q" };
		for (const [message, code, requestId] of [
			["{", "invalid_json", undefined],
			["", "invalid_json", undefined],
			["[".repeat(60_000), "invalid_json", undefined],
			["null", "invalid_message", undefined],
			["[]", "invalid_message", undefined],
			[{ requestId: "q" }, "invalid_message", "q"],
			[{ type: 1, requestId: "q" }, "invalid_message", "q"],
			[{ type: "reboot", requestId: "q" }, "unknown_type", "q"],
			[{ type: "toString", requestId: "q" }, "unknown_type", "q"],
			['{"__proto__":{"type":"boot_device","targetId":"x"}}', "invalid_message", undefined],
			[{ type: "boot_device", requestId: "q" }, "invalid_message", "q"],
			[{ type: "boot_device", targetId: 5, requestId: "q" }, "invalid_message", "q"],
			[{ type: "boot_device", targetId: sessionId, requestId: "x".repeat(65) }, "invalid_message", undefined],
			[{ type: "boot_device", targetId: sessionId, requestId: 5 }, "invalid_message", undefined],
			[{ type: "trigger_ota", targetId: sessionId, version: 2, requestId: "q" }, "invalid_message", "q"],
			[{ type: "boot_device", ...target }, "unknown_target", "q"],
			[{ type: "boot_device", ...target, targetId: "__proto__" }, "unknown_target", "q"],
			[{ type: "boot_device", ...target, targetId: sessionId }, "target_offline", "q"],
			[{ type: "trigger_ota", ...target, targetId: "dev-1-a1b2c3" }, "target_offline", "q"],
		] as const) {
			const answer = await monitor.request(message);
			assert.deepEqual(
				[answer.type, answer.code, answer.requestId],
				["error", code, requestId],
				JSON.stringify(message),
			);
			assert.ok(
				typeof answer.message === "string" && answer.message.length > 10,
				`message: ${answer.message}`,
			);
		}
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
		const gateway = await runGateway(t, { monotonic: () => now });
		const monitor = await gateway.monitor();
		const codes = async (count: number) => {
			for (let i = 0; i < count; i += 1) monitor.send({ type: "boot_device", targetId: "unknown" });
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
		assert.equal((await other.request({ type: "boot_device", targetId: "unknown" })).code, "unknown_target");
	});
});

test("closes with 1008 a monitor that continues after many rejections", {
	timeout: 20_000,
}, async (t) => {
	const gateway = await runGateway(t, { monotonic: () => 0 });
	const [monitor, other] = [await gateway.monitor(), await gateway.monitor()];
	const { commandBurst, rejectionBurst } = socketLimits;
	for (let count = 0; count < commandBurst + rejectionBurst + 10; count += 1) monitor.send("x");
	assert.deepEqual(await monitor.closed, { code: 1008, reason: "too many messages" });
	assert.equal((await other.request("x")).code, "invalid_json");
});

describe("ping and pong frames", () => {
	for (const kind of ["ping", "pong"] as const)
		test(`close the socket: ${kind}s above a burst of 100`, { timeout: 20_000 }, async (t) => {
			const gateway = await runGateway(t, { monotonic: () => 0 });
			for (const { socket, closed } of [await gateway.device(), await gateway.monitor()]) {
				for (let count = 0; count < 2 * socketLimits.controlFrameBurst; count += 1) socket[kind]();
				const { code, reason } = await closed;
				// A client that sends pings may lose its connection before it reads the close frame.
				if (kind === "pong") assert.deepEqual([code, reason], [1008, "too many ping or pong frames"]);
			}
		});

	test("are allowed in small numbers", async (t) => {
		const gateway = await runGateway(t, { monotonic: () => 0 });
		const monitor = await gateway.monitor();
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
	const { log, ended } = watched();
	const limits = { commandBurst: 1, commandsASecond: 1, closeTimeoutMs: 30_000 };
	const gateway = await runGateway(t, { log, monotonic: () => 0, limits });
	const monitor = await gateway.monitor();
	// More than one read.
	for (let count = 0; count < 20; count += 1) monitor.send("x".repeat(60_000));
	await monitor.until(({ code }) => code === "rate_limited");
	await gateway.gateway.close();
	assert.equal(await ended, 1001);
});

/** Close code of the first monitor at the gateway: 1006 without a closing handshake. */
function watched() {
	let log = createLog("fatal");
	const ended = new Promise((resolve) => {
		log = createLog("info", {
			write: (line) => {
				const { msg, code } = JSON.parse(line);
				if (msg === "monitor disconnected") resolve(code);
			},
		});
	});
	return { log, ended };
}

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

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, type TestContext, test } from "node:test";
import { type Crash, maxLogSeconds } from "../../device/protocol/messages.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import type { VirtualDevice, VirtualDeviceOptions } from "../../hosts/virtual/node/virtual-device.js";
import { type Connection, powerOn, runScriptedGateway } from "../support/scripted-gateway.js";
import { powerOnInVirtualTime } from "../support/virtual-time.js";

const rules = "test/hosts/virtual/xs/firmware/crashing-rules.ts";
const chatty = "test/hosts/virtual/xs/firmware/chatty-rules.ts";
const secret = "device-token-of-the-tests";

/** Connects a device whose firmware crashes and restarts when a button is pressed. */
async function crashing(t: TestContext, options: Partial<VirtualDeviceOptions> = {}) {
	const gateway = await runScriptedGateway(t);
	const program = await buildFirmware({ rules });
	const device = await powerOn(t, gateway, "DEV-1", {
		program,
		version: "1.4.0",
		restartsAfterCrash: true,
		watchdogMs: 300,
		...options,
	});
	const connection = await gateway.connection();
	await connection.next("state_report");
	const back = async () => {
		const next = await gateway.connection();
		await next.next("state_report");
		return next;
	};
	return { gateway, device, connection, back };
}

async function crashOf(connection: Connection): Promise<Crash | undefined> {
	connection.send({ command: "query_crash" });
	const { crash } = await connection.next("crash_report");
	return crash;
}

async function lineOf(text: string): Promise<number> {
	const lines = (await readFile(rules, "utf8")).split("\n");
	return lines.findIndex((line) => line.includes(text)) + 1;
}

describe("crash report after the restart", () => {
	for (const [button, kind, message, line] of [
		["play", "exception", /^TypeError: no volume for \*+$/, "throw new TypeError"],
		["mute", "rejection", /^Error: not handled$/, "throw new Error"],
		["volumeUp", "out_of_memory", /^out of /, "let link"],
		["volumeDown", "watchdog", /watchdog timeout/, "for (;;);"],
	] as const)
		test(`${kind}: contains the TypeScript line, the version and the last log lines`, async (t) => {
			const { device, back } = await crashing(t);
			device.board.setButton(button, true);
			const connection = await back();
			const crash = await crashOf(connection);
			assert.ok(crash, "the report has no crash");
			assert.equal(crash.kind, kind);
			assert.match(crash.message, message);
			assert.equal(crash.file, rules);
			assert.equal(crash.line, await lineOf(line));
			assert.equal(crash.firmware_version, "1.4.0");
			assert.match(crash.trace, new RegExp(`gateway connected\n(.*\n)*pressed ${button} with \\*+\n$`));
			assert.ok(!JSON.stringify(crash).includes(secret), "the crash report contains the token");
		});

	test("panic: reports a fault in C", async (t) => {
		const { device, back } = await crashing(t);
		process.kill(device.machine.pid ?? 0, "SIGSEGV");
		const crash = await crashOf(await back());
		assert.equal(crash?.kind, "panic");
		assert.match(crash.message, /SIGSEGV/);
		assert.equal(device.started.resetReason, "PANIC_RESET");
	});

	test("brownout: reports the uptime of the device", async (t) => {
		const { gateway, device } = await powerOnInVirtualTime(t, "DEV-1");
		await device.machine.advance(12_345);
		await device.brownOut();
		const next = await gateway.connection();
		const crash = await crashOf(next);
		assert.equal(crash?.kind, "brown_out");
		assert.equal(crash.uptime_seconds, 12);
		assert.equal(device.started.resetReason, "BROWNOUT_RESET");
	});
});

describe("crash report", () => {
	test("repeats until it is cleared by its id", async (t) => {
		const { device, connection, back } = await crashing(t);
		assert.equal(await crashOf(connection), undefined);
		device.board.setButton("play", true);
		const first = await back();
		const crash = await crashOf(first);
		assert.ok(crash, "the report has no crash");
		assert.deepEqual(await crashOf(first), crash);
		first.send({ command: "clear_crash", id: "0" });
		assert.deepEqual(await crashOf(first), crash, "another crash was cleared");
		device.board.setButton("mute", true);
		const second = await back();
		const later = await crashOf(second);
		assert.equal(later?.kind, "rejection");
		assert.notEqual(later.id, crash.id);
		second.send({ command: "clear_crash", id: later.id });
		assert.equal(await crashOf(second), undefined);
	});
});

describe("live log", () => {
	const start = (connection: Connection, seconds = 10, level = "info") =>
		connection.send({ command: "set_log", level, seconds });

	test("starts with the buffered lines and continues with new ones once a second", async (t) => {
		const { device, connection, pass } = await powerOnInVirtualTime(t, "DEV-1");
		start(connection);
		const first = await connection.next("log");
		assert.equal(first.seq, 0);
		assert.equal(first.dropped, 0);
		assert.match(
			first.lines,
			/^settings: network "virtual", gateway ws:.+\nWi-Fi connecting\n(.*\n)*gateway connected\n$/,
		);
		device.board.accessPoints = [{ ssid: "virtual", rssi: -40 }];
		trace(device, "one\n");
		trace(device, "two\nhal");
		await pass(1000);
		const second = await connection.next("log");
		assert.deepEqual(
			{ ...second, deviceId: "" },
			{ type: "log", deviceId: "", seq: 1, dropped: 0, lines: "one\ntwo\n" },
		);
		trace(device, `f\nthe token is ${secret}, twice: ${secret}\n`);
		await pass(1000);
		assert.equal((await connection.next("log")).lines, "half\nthe token is ***, twice: ***\n");
	});

	test("ends after its time, on request, and with the connection", async (t) => {
		const { gateway, device, connection, pass } = await powerOnInVirtualTime(t, "DEV-1");
		const logs: unknown[] = [];
		connection.socket.on("message", (data) => {
			const message: { type: string; lines: string } = JSON.parse(data.toString());
			if (message.type === "log") logs.push(message.lines);
		});
		start(connection, 2);
		await connection.next("log");
		await pass(3000);
		trace(device, "too late\n");
		await pass(3000);
		start(connection);
		await connection.next("log", ({ lines }) => lines.includes("too late"));
		start(connection, 10, "off");
		await connection.query();
		trace(device, "switched off\n");
		await pass(3000);
		await connection.query();
		assert.equal(logs.length, 2);
		start(connection);
		await connection.next("log", ({ lines }) => lines.includes("switched off"));
		connection.socket.terminate();
		await connection.closed;
		const [next] = await Promise.all([gateway.connection(), pass(5000)]);
		next.socket.on("message", (data) => logs.push(JSON.parse(data.toString()).type));
		logs.length = 0;
		trace(device, "on the next connection\n");
		await pass(3000);
		await next.query();
		const logLines = logs.filter((type) => type === "log");
		assert.deepEqual(logLines, []);
	});

	test("counts dropped lines, and sends one frame of at most 4 KB a second", async (t) => {
		const program = await buildFirmware({ rules: chatty });
		const { device, connection, pass } = await powerOnInVirtualTime(t, "DEV-1", { program });
		const frames: string[] = [];
		connection.socket.on("message", (data) => {
			if (data.toString().startsWith('{"type":"log"')) frames.push(data.toString());
		});
		device.board.setButton("play", true);
		start(connection, maxLogSeconds);
		await pass(5000);
		await connection.query();
		assert.ok(frames.length >= 5 && frames.length <= 6, `${frames.length} frames in 5 s`);
		let expected = 0;
		for (const frame of frames) {
			assert.ok(Buffer.byteLength(frame) <= 4096, `a frame of ${Buffer.byteLength(frame)} bytes`);
			const { lines, dropped }: { lines: string; dropped: number } = JSON.parse(frame);
			const numbers = [...lines.matchAll(/^line (\d+)/gm)].map(([, number]) => Number(number));
			if (numbers.length === 0) continue;
			assert.equal(numbers[0], expected + dropped);
			expected = (numbers.at(-1) ?? 0) + 1;
		}
		assert.ok(expected > 1000, `accounted for only ${expected} lines`);
	});

	test("uses no heap while it is off", async (t) => {
		const program = await buildFirmware({ rules: chatty });
		const { device, pass } = await powerOnInVirtualTime(t, "DEV-1", { program });
		device.board.setButton("play", true);
		await pass(5_000);
		const before = await device.machine.statistics(true);
		await pass(60_000);
		const after = await device.machine.statistics(true);
		assert.ok(device.rtc.trace.lineCount > 15_000, `only ${device.rtc.trace.lineCount} lines were traced`);
		assert.ok(after.chunkBytesUsed - before.chunkBytesUsed < 200, "strings");
		// A report may be in flight.
		assert.ok(after.slotsUsed - before.slotsUsed < 50, "values");
	});
});

/** Adds a trace line as the firmware does. */
function trace(device: VirtualDevice, text: string): void {
	device.rtc.trace.write(text);
}

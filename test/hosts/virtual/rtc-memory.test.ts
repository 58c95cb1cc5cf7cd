import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { noLocation } from "../../../hosts/virtual/node/exit.js";
import { RtcMemory } from "../../../hosts/virtual/node/rtc-memory.js";

const run = { version: "1.4.0", uptimeMs: 61_999 };

describe("trace in RTC memory", () => {
	test("keeps the newest whole lines of 2,000 bytes", () => {
		const memory = new RtcMemory();
		for (let line = 0; line < 1000; line++) memory.trace.write(`${String(line).padStart(9, "0")}\n`);
		assert.equal(memory.trace.lineCount, 1000);
		assert.equal(memory.trace.read(1000).length, 2000);
		assert.match(memory.trace.read(1000), /^000000800\n/);
		assert.equal(memory.trace.read(2), "000000998\n000000999\n");
		assert.equal(memory.trace.read(0), "");
		memory.trace.write("x");
		assert.match(memory.trace.read(1000), /^000000800\n/);
		memory.trace.write("12345678\n");
		assert.equal(memory.trace.read(1000).length, 2000);
	});

	test("omits a truncated first line, and one that is longer than the memory", () => {
		const memory = new RtcMemory();
		memory.trace.write(`${"a".repeat(1500)}\n${"b".repeat(1500)}\n`);
		assert.equal(memory.trace.read(2), `${"b".repeat(1500)}\n`);
		memory.trace.write(`${"c".repeat(3000)}\n`);
		assert.equal(memory.trace.read(3), "");
		memory.trace.write("d\n");
		assert.equal(memory.trace.read(4), "d\n");
		assert.equal(memory.trace.lineCount, 4);
	});

	test("is plain ASCII", () => {
		const memory = new RtcMemory();
		memory.trace.write("a\tb\u0000c\u00e9\n");
		assert.equal(memory.trace.read(1), "a?b?c?\n");
	});

	test("is copied into a crash record and then restarts", () => {
		const memory = new RtcMemory();
		memory.trace.write("before\nhalf");
		memory.onEnd(
			{ ...noLocation, kind: "exception", message: "x".repeat(600), file: "device/main.ts", line: 7 },
			run,
		);
		const { crash } = memory;
		assert.ok(crash, "no crash was kept");
		assert.deepEqual(
			{ ...crash, id: "", message: crash.message.length },
			{
				id: "",
				kind: "exception",
				message: 255,
				file: "device/main.ts",
				line: 7,
				stack: "",
				firmware_version: "1.4.0",
				uptime_seconds: 61,
				trace: "before\n",
			},
		);
		assert.equal(memory.trace.lineCount, 0);
		memory.trace.write("ha\n");
		assert.equal(memory.trace.read(9), "ha\n");
	});

	test("a requested restart keeps an earlier crash and is none itself", () => {
		const memory = new RtcMemory();
		memory.onEnd({ ...noLocation, kind: "restart", message: "restart" }, run);
		const { crash: none } = memory;
		assert.equal(none, undefined);
		memory.onEnd({ ...noLocation, kind: "killed", message: "gone" }, run);
		const { crash } = memory;
		assert.equal(crash?.kind, "panic");
		memory.onEnd({ ...noLocation, kind: "restart", message: "restart" }, run);
		assert.deepEqual(memory.crash, crash);
	});

	test("a brown-out is a crash, whose trace the next run does not continue", () => {
		const memory = new RtcMemory();
		memory.trace.write("before\n");
		memory.onBrownOut(run);
		assert.deepEqual([memory.crash?.kind, memory.crash?.trace], ["brown_out", "before\n"]);
		assert.deepEqual([memory.trace.lineCount, memory.trace.read(9)], [0, ""]);
	});
});

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { noLocation } from "../../../hosts/virtual/node/exit.js";
import { RtcMemory } from "../../../hosts/virtual/node/rtc-memory.js";

const run = { version: "1.4.0", uptimeMs: 61_999 };

describe("trace in RTC memory", () => {
	test("keeps the newest whole lines of 2,000 bytes", () => {
		const memory = new RtcMemory();
		for (let line = 0; line < 1000; line++) memory.write(`${String(line).padStart(9, "0")}\n`);
		assert.equal(memory.lineCount, 1000);
		assert.equal(memory.read(1000).length, 2000);
		assert.match(memory.read(1000), /^000000800\n/);
		assert.equal(memory.read(2), "000000998\n000000999\n");
		assert.equal(memory.read(0), "");
		memory.write("x");
		assert.match(memory.read(1000), /^000000800\n/);
		memory.write("12345678\n");
		assert.equal(memory.read(1000).length, 2000);
	});

	test("omits a truncated first line, and one that is longer than the memory", () => {
		const memory = new RtcMemory();
		memory.write(`${"a".repeat(1500)}\n${"b".repeat(1500)}\n`);
		assert.equal(memory.read(2), `${"b".repeat(1500)}\n`);
		memory.write(`${"c".repeat(3000)}\n`);
		assert.equal(memory.read(3), "");
		memory.write("d\n");
		assert.equal(memory.read(4), "d\n");
		assert.equal(memory.lineCount, 4);
	});

	test("is plain ASCII", () => {
		const memory = new RtcMemory();
		memory.write("a\tb\u0000c\u00e9\n");
		assert.equal(memory.read(1), "a?b?c?\n");
	});

	test("is copied into a crash record and then restarts", () => {
		const memory = new RtcMemory();
		memory.write("before\nhalf");
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
		assert.equal(memory.lineCount, 0);
		memory.write("ha\n");
		assert.equal(memory.read(9), "ha\n");
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
		memory.write("before\n");
		memory.onBrownOut(run);
		assert.deepEqual([memory.crash?.kind, memory.crash?.trace], ["brown_out", "before\n"]);
		assert.deepEqual([memory.lineCount, memory.read(9)], [0, ""]);
	});
});

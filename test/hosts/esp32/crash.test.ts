/**
 * RTC memory and core dump of a board across restarts: C code compiled for this computer.
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { compileHarness, runC, withoutCompiler as skip } from "../../support/c-program.js";

/** esp_reset_reason_t. */
const reset = { powerOn: 1, software: 3, panic: 4, taskWatchdog: 6, brownOut: 9, usb: 11 };
const field = { id: 0, kind: 1, message: 2, stack: 3, version: 4, trace: 5 };

let program = "";

/** @returns the output of each command */
function run(...commands: readonly string[]): readonly string[] {
	return runC(program, `${commands.join("\n")}\n`)
		.toString()
		.split("\u001e")
		.slice(0, -1);
}

const crashFields = Object.values(field).map((index) => `crash ${index}`);

/** Parsed output of `crashFields`, the last commands. */
function crashAfter(...commands: readonly string[]) {
	const [id = "", kind, message, stack, version, trace] = run(...commands, ...crashFields).slice(
		-crashFields.length,
	);
	return { id, kind, message, stack, version, trace };
}

describe("RTC memory of a board", { skip }, () => {
	before(() => {
		program = compileHarness("crash-harness.c", "board-crash.c");
	});

	const begin = ["power 165", `start ${reset.powerOn}`, "trace one", "trace two"];

	test("contains no crash after a first start, a power cut, a USB reset or a requested restart", () => {
		for (const commands of [
			begin,
			[...begin, "power 0", `start ${reset.powerOn}`],
			[...begin, `start ${reset.usb}`],
			[...begin, "want", `start ${reset.software}`],
			// By a firmware without such memory.
			["power 0", `start ${reset.software}`],
		])
			assert.equal(crashAfter(...commands).id, "", commands.join());
	});

	test("reports the exception that XS reported before it restarted the chip", () => {
		const { id, ...crash } = crashAfter(...begin, "time 61", "note exception", `start ${reset.software}`);
		assert.match(id, /^[0-9a-f]{8}$/);
		assert.deepEqual(crash, {
			kind: "exception",
			message: "Error: not handled",
			stack: "at f ()\nat g ()",
			version: "1.4.0",
			trace: "one\ntwo\n",
		});
		assert.equal(run(...begin, "time 61", `start ${reset.panic}`, "uptime").at(-1), "61");
	});

	test("reports the chip's own reason if XS reported none", () => {
		for (const [reason, kind] of [
			[reset.software, "unknown"],
			[reset.panic, "panic"],
			[reset.taskWatchdog, "watchdog"],
			[reset.brownOut, "brown_out"],
		] as const) {
			const crash = crashAfter(...begin, `start ${reason}`);
			assert.equal(crash.kind, kind);
			assert.notEqual(crash.message, "");
			assert.equal(crash.trace, "one\ntwo\n");
		}
	});

	test("reports only the kind if the memory is inconsistent", () => {
		const crash = crashAfter(...begin, "damage 5", `start ${reset.brownOut}`);
		assert.deepEqual(
			{ ...crash, id: "", message: "" },
			{
				id: "",
				kind: "brown_out",
				message: "",
				stack: "",
				version: "",
				trace: "",
			},
		);
	});

	test("keeps a crash across restarts, even of another version, until it is cleared or replaced by a later one", () => {
		const crashed = [...begin, "note exception", "version 1.3.0", `start ${reset.software}`];
		const first = crashAfter(...crashed);
		assert.equal(first.version, "1.4.0");
		assert.deepEqual(crashAfter(...crashed, "trace three", "want", `start ${reset.software}`), first);
		assert.equal(crashAfter(...crashed, "clear").id, "");
		assert.equal(crashAfter(...crashed, "clear", "want", `start ${reset.software}`).id, "");
		const later = crashAfter(...crashed, "trace three", `start ${reset.panic}`);
		assert.deepEqual(
			{ ...later, id: "", message: "" },
			{
				id: "",
				kind: "panic",
				message: "",
				stack: "",
				version: "1.3.0",
				trace: "three\n",
			},
		);
		assert.notEqual(later.id, first.id);
	});

	test("adds cause and location from a core dump, and keeps its id across power cuts until it is reported", () => {
		const crashed = [...begin, "dump 7", `start ${reset.panic}`];
		const first = crashAfter(...crashed);
		assert.equal(first.kind, "panic");
		assert.equal(first.message, "StoreProhibited (cause 29) at 0x400d1234 of address 0x00000000, task main");
		assert.equal(first.stack, "at 0x400d1234\nat 0x400d5678\n");
		assert.equal(first.trace, "one\ntwo\n");
		assert.equal(crashAfter(...crashed, "power 165", `start ${reset.powerOn}`).id, first.id);
		assert.equal(crashAfter(...crashed, "clear", "power 165", `start ${reset.powerOn}`).id, "");
	});

	test("loses only the dump's details if the chip restarts while the core dump is read", () => {
		const crashed = [...begin, "dump 7"];
		for (let access = 1; ; access++) {
			const broken = [...crashed, `restart-at ${access}`, `start ${reset.panic}`];
			if (run(...broken, "accesses-left").at(-1) !== "0") {
				assert.ok(access > 6, `${access} accesses to the dump`);
				return;
			}
			const crash = crashAfter(...broken, `start ${reset.taskWatchdog}`);
			const { id, ...rest } = crash;
			assert.match(id, /^[0-9a-f]{8}$/);
			const message = "panic in native code without a core dump";
			const expected = { kind: "panic", message, stack: "", version: "1.4.0", trace: "one\ntwo\n" };
			assert.deepEqual(rest, expected, `restart at access ${access}`);
			assert.deepEqual(
				crashAfter(...broken, `start ${reset.taskWatchdog}`, "want", `start ${reset.software}`),
				crash,
			);
		}
	});

	test("assigns an id to an incomplete core dump, which persists across power cuts", () => {
		const ids = [5, 6].map((seed) => {
			const crashed = [...begin, `half-dump ${seed}`, `start ${reset.panic}`];
			const { id, kind, message } = crashAfter(...crashed);
			assert.equal(kind, "panic");
			assert.equal(message, "panic in native code without a core dump");
			assert.equal(crashAfter(...crashed, "power 165", `start ${reset.powerOn}`).id, id);
			return id;
		});
		assert.notEqual(ids[0], ids[1]);
	});

	test("keeps the newest 2,000 bytes of the trace as whole lines in ASCII", () => {
		const lines = Array.from({ length: 500 }, (_, index) => `trace line ${index}`);
		const [all = "", two, none, count] = run(
			...begin,
			...lines,
			"part half",
			"read 9999",
			"read 2",
			"read 0",
			"lines",
		).slice(-4);
		assert.ok(all.length > 1950 && all.length <= 2000, `${all.length} bytes`);
		assert.match(all, /^line \d+\n/);
		assert.match(all, /line 498\nline 499\n$/);
		assert.equal(two, "line 498\nline 499\n");
		assert.equal(none, "");
		assert.equal(count, "502");
		assert.equal(run(...begin, "trace \té", "read 1").at(-1), "???\n");
		assert.equal(run(...begin, `trace ${"x".repeat(3000)}`, "read 9").at(-1), "");
	});
});

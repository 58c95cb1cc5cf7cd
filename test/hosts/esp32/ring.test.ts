/** LED ring driver in C: pixels, waits and cleanup. Its signal is tested on an emulated chip. */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { compileHarness, runC, withoutCompiler as skip } from "../../support/c-program.js";

let program = "";

/** @returns the output of the calls, one line each */
function run(calls: readonly string[]): readonly string[] {
	return runC(program, calls.map((call) => `${call}\n`).join(""))
		.toString()
		.trimEnd()
		.split("\n");
}

describe("LED ring driver", { skip }, () => {
	before(() => {
		program = compileHarness("ring-harness.c", "board-ring.c");
	});

	test("sends the colors in the ring's order", () => {
		for (const [order, bytes] of [
			["GRB", "000000023f80"],
			["RGB", "0000003f0280"],
			["BGR", "00000080023f"],
			["BRG", "000000803f02"],
		] as const)
			assert.deepEqual(run([`open 21 2 ${order}`, "set 1 3f0280", "show"]).at(-1), `send ${bytes}`, order);
	});

	test("keeps pixels that are not set again, and ignores a nonexistent one", () => {
		const calls = [
			"open 21 2 RGB",
			"set 0 010203",
			"show",
			"later 33000",
			"set 1 ffffff",
			"set 2 ffffff",
			"show",
		];
		assert.deepEqual(run(calls).slice(-2), ["send 010203000000", "send 010203ffffff"]);
		assert.equal(run(["open 21 64 RGB", "set 64 ffffff"]).at(-1), "open 0");
	});

	test("does not change a frame that is being sent", () => {
		const lines = run(["open 21 1 RGB", "set 0 010203", "show", "set 0 0a0b0c", "sent"]);
		assert.deepEqual(lines.slice(-2), ["send 010203", "sent 010203"]);
	});

	test("waits for the previous frame and 280 us, and not at all when that is over", () => {
		const open = ["open 21 12 RGB", "show"];
		const waits = (calls: readonly string[]) => run(calls).filter((line) => line.startsWith("wait"));
		assert.deepEqual(waits([...open, "show"]), [`wait ${12 * 30 + 280} us`]);
		assert.deepEqual(waits([...open, "later 600", "show"]), ["wait 40 us"]);
		assert.deepEqual(waits([...open, "later 640", "show"]), []);
	});

	test("skips a frame while the previous one does not end", () => {
		const calls = ["open 21 1 RGB", "show", "later 33000", "busy 107", "show", "busy 0", "show"];
		assert.equal(run(calls).filter((line) => line.startsWith("send")).length, 2);
	});

	test("closes after the LEDs have latched the frame; the next ring starts dark", () => {
		const lines = run(["open 21 1 RGB", "set 0 ffffff", "show", "close", "close", "open 21 2 RGB", "show"]);
		assert.deepEqual(lines.slice(lines.indexOf("send ffffff")).slice(0, 4), [
			"send ffffff",
			"wait 310 us",
			"channel freed",
			"encoder freed",
		]);
		assert.deepEqual(lines.slice(-2), ["open 0", "send 000000000000"]);
		assert.equal(lines.filter((line) => line === "channel freed").length, 1);
	});

	test("rejects invalid options and a second ring without using hardware", () => {
		for (const ring of ["0 GRB", "65 GRB", "12 GGB", "12 GRBW", "12 grb"])
			assert.deepEqual(run([`open 21 ${ring}`, "set 0 ffffff", "show", "close"]), ["open 102"], ring);
		assert.equal(run(["open 21 12 GRB", "open 22 12 GRB"]).at(-1), "open 103");
	});

	test("frees the channel if the encoder cannot be allocated, and can be opened later", () => {
		const lines = run(["encoder 101", "open 21 1 GRB", "show", "encoder 0", "open 21 1 GRB"]);
		assert.deepEqual(lines.slice(0, 2), ["channel freed", "open 101"]);
		assert.equal(lines.at(-1), "open 0");
	});
});

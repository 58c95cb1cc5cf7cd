/** Update of a board, C code compiled for this computer: writing the slot, and the task that verifies and selects the image. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { compileHarness, runC, withoutCompiler as skip } from "../../support/c-program.js";

/** @returns lines that the harness prints */
function run(sanitizer: string, ...words: readonly string[]): readonly string[] {
	const program = compileHarness("update-harness.c", "board-update.c", [sanitizer, "-pthread"]);
	return runC(program, "", ...words)
		.toString()
		.trimEnd()
		.split("\n");
}

test("erases blocks of 64 KB before the first write to each, and writes pieces of at most 4 KB from internal RAM", {
	skip,
}, () => {
	const firstBlock = Array.from({ length: 15 }, (_, index) => {
		const [at, from] = [4096 * (index + 1), 9 + 8 * index];
		return `write 1: 4096 bytes at ${at}, from ${from} to ${from + 7}`;
	});
	assert.deepEqual(run("-fsanitize=address,undefined", "write"), [
		"begin 1 with 65536 bytes",
		"free handle 7",
		"open 0",
		"write 1: 4096 bytes at 0, from 1 to 8",
		"result 0",
		...firstBlock,
		"result 0",
		"erase 1: 65536 bytes at 65536",
		"write 1: 4096 bytes at 65536, from 2 to 9",
		"write 1: 1 bytes at 69632, from 10 to 10",
		"result 0",
		"begin 1 with 65536 bytes",
		"free handle 7",
		"open 0",
		"write 1: 10 bytes at 0, from 0 to 0",
		"result 0",
		"write 1: 4096 bytes at 10, from 0 to 7",
		"result 105",
		"begin 1 with 65536 bytes",
		"open 1504",
	]);
});

test("verifies an image in a separate task, or in the same turn without memory for one, and keeps the result", {
	skip,
}, () => {
	assert.deepEqual(run("-fsanitize=thread"), [
		"selecting 1",
		"selecting 0, result 1503, in this turn 0",
		"selecting 0, result 1503, in this turn 1",
	]);
});

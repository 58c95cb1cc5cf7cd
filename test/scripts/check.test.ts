/** What `npm run check` refuses in the firmware's code: scripts/check/xs.grit. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

function lint(path: string, code: string): string {
	const words = ["biome", "lint", `--stdin-file-path=${path}`];
	const { stdout, stderr } = spawnSync("npx", words, {
		input: code,
		encoding: "utf8",
		shell: process.platform === "win32",
	});
	return stdout + stderr;
}

const refused: readonly (readonly [code: string, problem: RegExp])[] = [
	[
		"round: for (const x of [1]) for (const y of [x]) if (y) continue round;",
		/leaks its stack at an exit by a label/,
	],
	["for (const x of [1]) switch (x) { case 1: continue; }", /leaks its stack at `continue` in a switch/],
	['"a".replace(/(?<letter>a)/, "$<letter>");', /unsafe with named groups/],
];

for (const [code, problem] of refused)
	test(`device/ and hosts/ are refused: ${code}`, () => {
		for (const path of ["device/example.ts", "hosts/esp32/example.ts"])
			assert.match(lint(path, code), problem);
		assert.doesNotMatch(lint("gateway/example.ts", code), problem, "Node is not XS");
	});

test("device/ may leave a loop by continue and a switch by break, and look behind", () => {
	const code =
		"for (const x of [1]) { if (x) continue; switch (x) { case 1: break; } } /(?<=a)b/.exec('ab');";
	assert.doesNotMatch(lint("device/example.ts", code), /XS/);
});

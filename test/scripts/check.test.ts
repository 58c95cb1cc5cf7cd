/** Lint rules of `npm run check` for the firmware and for tests: scripts/check/*.grit. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryDirectory } from "../support/cleanup.js";

/** Lints a file at that path in a project with this project's configuration. @returns Biome's output */
async function lint(t: TestContext, path: string, code: string): Promise<string> {
	const folder = await temporaryDirectory(t);
	const configuration = (await readFile("biome.json", "utf8")).replaceAll(
		'"./scripts',
		`"${resolve("scripts")}`,
	);
	const { vcs: _, ...rest } = JSON.parse(configuration);
	await writeFile(join(folder, "biome.json"), JSON.stringify(rest));
	await mkdir(join(folder, dirname(path)), { recursive: true });
	await writeFile(join(folder, path), code);
	const biome = resolve("node_modules/@biomejs/biome/bin/biome");
	const { stdout, stderr } = spawnSync(process.execPath, [biome, "lint", path], {
		cwd: folder,
		encoding: "utf8",
	});
	assert.match(stdout, /^Checked 1 file/m, stderr);
	return stdout + stderr;
}

const refused: readonly (readonly [code: string, problem: RegExp])[] = [
	[
		"round: for (const x of [1]) for (const y of [x]) if (y) continue round;",
		/leaks its stack at an exit by a label/,
	],
	["for (const x of [1]) switch (x) { case 1: continue; }", /leaks its stack at `continue` in a switch/],
	['"a".replace(/(?<letter>a)/, "$<letter>");', /unsafe with named groups/],
	["export const vowels = /[aeiou]/;", /regular expression of a module/],
	["export class Vowels { static readonly all = /[aeiou]/; }", /regular expression of a module/],
];

for (const [code, problem] of refused)
	test(`rejects in device/ and hosts/: ${code}`, async (t) => {
		for (const path of ["device/example.ts", "hosts/esp32/example.ts"])
			assert.match(await lint(t, path, code), problem);
		assert.doesNotMatch(await lint(t, "gateway/example.ts", code), problem, "Node is not XS");
	});

test("allows continue in a loop, break in a switch, and look-behind in device/", async (t) => {
	const code =
		"for (const x of [1]) { if (x) continue; switch (x) { case 1: break; } } export const find = () => /(?<=a)b/.exec('ab');";
	assert.doesNotMatch(await lint(t, "device/example.ts", code), /XS/);
});

test("rejects assertions without a message in test/ only", async (t) => {
	const code = `import assert from "node:assert/strict";
export function check(list: readonly number[]): void {
	assert.ok(list.every((each) => each > 0));
	assert(list.includes(1));
	assert.ok(
		list.includes(2),
	);
	if (list.length > 3) assert.fail();
	assert.ok(list.includes(4), String(list));
	assert(list.includes(5), String(list));
	assert.fail(String(list));
	assert.equal(list.length, 6);
}
`;
	const found = await lint(t, "test/example.test.ts", code);
	const lines = [...found.matchAll(/example\.test\.ts:(\d+):\d+ plugin/g)].map(([, line]) => Number(line));
	assert.deepEqual(lines, [3, 4, 5, 8], found);
	assert.doesNotMatch(await lint(t, "scripts/example.ts", code), /plugin/);
});

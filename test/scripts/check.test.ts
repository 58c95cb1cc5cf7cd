/** Types, and lint rules for the firmware and for tests (scripts/check/*.grit), of `npm run check`. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryDirectory } from "../support/cleanup.js";

/** Lints these files in a project with this project's configuration. @returns Biome's output */
async function lint(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
	const folder = await temporaryDirectory(t);
	const configuration = (await readFile("biome.json", "utf8")).replaceAll(
		'"./scripts',
		`"${resolve("scripts")}`,
	);
	const { vcs: _, ...rest } = JSON.parse(configuration);
	await writeFile(join(folder, "biome.json"), JSON.stringify(rest));
	for (const [path, code] of Object.entries(files)) {
		await mkdir(join(folder, dirname(path)), { recursive: true });
		await writeFile(join(folder, path), code);
	}
	const biome = resolve("node_modules/@biomejs/biome/bin/biome");
	const words = [biome, "lint", "--max-diagnostics=none", "."];
	const { stdout, stderr } = spawnSync(process.execPath, words, { cwd: folder, encoding: "utf8" });
	assert.match(stdout, /^Checked \d+ files?/m, stderr);
	return stdout + stderr;
}

/** Parts of Biome's output that belong to a file. */
const partsOf = (output: string, path: string) =>
	output.split(/^(?=\S+\.ts:\d+:\d+ )/m).filter((part) => part.startsWith(`${path}:`));

const rejected: readonly (readonly [code: string, problem: RegExp])[] = [
	[
		"round: for (const x of [1]) for (const y of [x]) if (y) continue round;",
		/leaks its stack at an exit by a label/,
	],
	["for (const x of [1]) switch (x) { case 1: continue; }", /leaks its stack at `continue` in a switch/],
	['"a".replace(/(?<letter>a)/, "$<letter>");', /unsafe with named groups/],
	["export const vowels = /[aeiou]/;", /regular expression of a module/],
	["export class Vowels { static readonly all = /[aeiou]/; }", /regular expression of a module/],
];

test("rejects in device/ and hosts/ what XS does wrong, and allows it in Node", async (t) => {
	const folders = ["device", "hosts/esp32", "gateway"];
	const allowed =
		"for (const x of [1]) { if (x) continue; switch (x) { case 1: break; } } export const find = () => /(?<=a)b/.exec('ab');";
	const codes = [allowed, ...rejected.map(([code]) => code)];
	const files = folders.flatMap((folder) =>
		codes.map((code, index): [string, string] => [`${folder}/example-${index}.ts`, code]),
	);
	const output = await lint(t, Object.fromEntries(files));
	for (const folder of folders) {
		assert.doesNotMatch(partsOf(output, `${folder}/example-0.ts`).join(""), /XS/);
		for (const [index, [code, problem]] of rejected.entries()) {
			const said = partsOf(output, `${folder}/example-${index + 1}.ts`).join("");
			assert.equal(problem.test(said), folder !== "gateway", `${folder}: ${code}: ${said}`);
		}
	}
});

test("rejects assertions without a message in test/ only", async (t) => {
	const code = `import assert from "node:assert/strict";
export function check(list: readonly number[]): void {
	assert.ok(list.every((item) => item > 0));
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
	const output = await lint(t, { "test/example.test.ts": code, "scripts/example.ts": code });
	const lines = [...output.matchAll(/test\/example\.test\.ts:(\d+):\d+ plugin/g)].map(([, line]) =>
		Number(line),
	);
	assert.deepEqual(lines, [3, 4, 5, 8], output);
	assert.doesNotMatch(partsOf(output, "scripts/example.ts").join(""), /plugin/);
});

test("reports type errors of each folder with a tsconfig.json", async (t) => {
	const folder = await temporaryDirectory(t);
	await symlink(resolve("node_modules"), join(folder, "node_modules"));
	const write = async (path: string, content: string) => {
		for (const name of ["one", "two/inner"]) {
			await mkdir(join(folder, name), { recursive: true });
			await writeFile(join(folder, name, path), content);
		}
	};
	await write("tsconfig.json", '{ "compilerOptions": { "noEmit": true, "types": [] } }');
	await write("wrong.ts", 'export const count: number = "one";\n');
	const check = () => {
		const words = ["--import", "tsx", resolve("scripts/check.ts"), "--types"];
		const { status, stdout } = spawnSync(process.execPath, words, { cwd: folder, encoding: "utf8" });
		return [status, stdout] as const;
	};
	const [status, output] = check();
	assert.equal(status, 1);
	for (const name of ["one", "two/inner"])
		assert.match(output, new RegExp(`^${name}/wrong\\.ts\\(1,14\\): `, "m"));
	await write("wrong.ts", "export {};\n");
	assert.deepEqual(check(), [0, "✔ tsc\n"]);
});

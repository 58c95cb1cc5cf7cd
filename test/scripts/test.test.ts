/** `npm test` in a small project. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { buildMachine } from "../../hosts/virtual/node/build.js";
import { temporaryDirectory } from "../support/cleanup.js";

const limitMs = 60_000;
/** Code that returns once the file `name` exists. */
const waitFor = (name: string) => `
	const until = Date.now() + ${limitMs};
	while (!require("node:fs").existsSync("${name}")) if (Date.now() > until) throw new Error("no ${name}");
`;

/** @param files contents by path; check.cjs is run by `npm run check` @returns function that runs tests */
async function makeProject(t: TestContext, files: Readonly<Record<string, string>>, limit = limitMs) {
	// The command compiles it first, which may take longer than the limit.
	await buildMachine();
	const cwd = await temporaryDirectory(t);
	const packageJson = JSON.stringify({ type: "module", scripts: { check: "node check.cjs" } });
	for (const [path, text] of Object.entries({ "package.json": packageJson, ...files })) {
		await mkdir(join(cwd, dirname(path)), { recursive: true });
		await writeFile(join(cwd, path), text);
	}
	for (const folder of ["node_modules", "scripts"]) await symlink(resolve(folder), join(cwd, folder));
	// Set by the runner, which does not run inside itself.
	const { NODE_TEST_CONTEXT: _, ...inherited } = process.env;
	const env = { ...inherited, TEST_LIMIT_MS: String(limit) };
	const argv = ["--import", "tsx", resolve("scripts/test.ts")];
	return (...words: readonly string[]) =>
		new Promise<{ isDone: boolean; output: string }>((end) => {
			execFile(
				process.execPath,
				[...argv, ...words],
				{ cwd, env, timeout: 2 * limitMs },
				(error, stdout, stderr) => end({ isDone: error === null, output: stdout + stderr }),
			);
		});
}

test("runs the tests of a word during the check, and fails if the check fails", async (t) => {
	const files = {
		"check.cjs": `${waitFor("tested")} console.log("wrong type"); process.exit(1);`,
		"test/some.test.ts": `
			import { writeFileSync } from "node:fs";
			import { test } from "node:test";
			test("passes", () => writeFileSync("tested", ""));`,
	};
	const { isDone, output } = await (await makeProject(t, files))("some");
	assert.match(output, /✔ passes.*\nwrong type\n/s);
	assert.equal(isDone, false);
});

test("runs beside another run of the same project", async (t) => {
	// More than run at once.
	const count = availableParallelism() + 4;
	const waiting = Array.from({ length: count }, (_, number) => [
		`test/waiting/${number}/some.test.ts`,
		`import { existsSync } from "node:fs";
		import { test } from "node:test";
		test("waits", async () => { while (!existsSync("second")) await new Promise((end) => setTimeout(end, 5)); });`,
	]);
	const files = {
		"check.cjs": "",
		"test/second.test.ts": `
			import { writeFileSync } from "node:fs";
			import { test } from "node:test";
			test("passes", () => writeFileSync("second", ""));`,
		...Object.fromEntries(waiting),
	};
	const runTests = await makeProject(t, files);
	const runs = await Promise.all([runTests("waiting"), runTests("second")]);
	const areDone = runs.map(({ isDone }) => isDone);
	assert.deepEqual(areDone, [true, true], runs.map(({ output }) => output).join("\n"));
});

test("ends and names a quick test that takes too long, even in a synchronous loop", async (t) => {
	const testing = 'import { describe, test } from "node:test";';
	const files = {
		"check.cjs": "",
		"test/loop/some.test.ts": `${testing} test("ends", () => {}); test("loops", () => { for (;;); });`,
		"test/wait/some.test.ts": `${testing} describe("group", () => {
			test("waits", () => new Promise((end) => setTimeout(end, ${10 * limitMs})));
		});`,
	};
	const { isDone, output } = await (await makeProject(t, files, 3_000))("some");
	for (const name of ["loops", "waits"])
		assert.match(output, new RegExp(`\nUnfinished test: ${name} took longer than 3 s\n`, "s"));
	assert.equal(isDone, false);
});

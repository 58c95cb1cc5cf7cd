/** `npm test` and `npm run test:all`: checks types and format, and runs the tests. */

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { run as runTests } from "node:test";
import { buildMachine } from "../hosts/virtual/node/build.js";
import { findXs } from "../hosts/virtual/node/xs.js";
import { exitCodeOf } from "./command-line/child.js";
import { type Arguments, runCommand, UsageError } from "./command-line/command.js";
import { compile, compiledPath } from "./test/compile.js";
import { groupTests } from "./test/grouping.js";
import { Report } from "./test/report.js";
import { selectTests } from "./test/selection.js";

/** Set by `npm run test:all` in package.json. */
const isAll = process.argv.includes("--all");

const usage = `Usage: ${isAll ? "npm run test:all" : "npm test"} [-- word …]

Runs all tests, and checks types and format in parallel. With words, it runs the test files whose path contains one of them, such as
npm test -- wifi sound. Files named *.long.test.ts take minutes: npm test runs only those whose name
contains a word, npm run test:all runs all of them, and runs property tests at their full number of runs.`;

const terminationMs = 15_000;
/** Contains a generated folder for each run, as several may run at once. */
const groupsFolder = join(".cache", "tests");
/** More than the processors, since tests wait for sockets, disks and processes. */
const concurrency = availableParallelism() + 2;

const options = { all: { type: "boolean" } } as const;

await runCommand({ name: "test", usage, options, allowPositionals: true, run });

async function run({ positionals: words }: Arguments<typeof options>): Promise<void> {
	// Node 20 does not support globs after --test.
	const found = readdirSync("test", { recursive: true, encoding: "utf8" }).map((file) => join("test", file));
	const files = selectTests(found, { words, isAll });
	const strayWord = words.find((word) => selectTests(files, { words: [word], isAll }).length === 0);
	if (strayWord !== undefined) throw new UsageError(`No test file with "${strayWord}" in its path.`);
	const check = spawn(`npm run --silent check${words.length > 0 ? " -- --types" : ""}`, {
		stdio: ["ignore", "pipe", "inherit"],
		shell: true,
	});
	const checked = Promise.all([exitCodeOf(check), text(check.stdout)]);
	// Language of dates and times; LC_ALL would take precedence.
	delete process.env.LC_ALL;
	process.env.LANG = "en_GB.UTF-8";
	if (isAll) process.env.PROPERTY_RUNS ??= "100";
	process.env.TEST_LIMIT_MS ||= String((isAll ? 10 : 2) * 60_000);
	process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ""} --enable-source-maps --disable-warning=ExperimentalWarning`;
	await compile(process.cwd());
	console.log(`Virtual devices run ${findXs().description}.`);
	// Takes minutes in a new clone. Tests that need it report a failure.
	await buildMachine().catch(() => {});
	const sources = new Map(files.map((file) => [resolve(compiledPath(file)), file]));
	const report = new Report({
		isDetailed: words.length > 0,
		isLimited: !isAll && words.length === 0,
		sourceOf: (file) => sources.get(file) ?? relative("", file),
		print: (line) => console.log(line),
	});
	// Node starts tests with the same options; compiled tests need no tsx.
	process.execArgv.length = 0;
	mkdirSync(groupsFolder, { recursive: true });
	const folder = mkdtempSync(join(groupsFolder, "run-"));
	for await (const event of runTests({ files: groupTests(files, folder), concurrency })) report.add(event);
	rmSync(folder, { recursive: true });
	const summary = report.finish();
	const [code, problems] = await checked;
	process.stdout.write(`\n${problems}${summary}\n`);
	if (code !== 0 || report.isFailed) process.exitCode = 1;
	// A child process of an unfinished test may keep its output open, for which Node would wait.
	setTimeout(() => process.exit(), terminationMs).unref();
}

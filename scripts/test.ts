/** `npm test` and `npm run test:all`: checks types and format, and runs the tests. */

import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { buildMachine } from "../hosts/virtual/node/build.js";
import { findXs } from "../hosts/virtual/node/xs.js";
import { exitCodeOf } from "./command-line/child.js";
import { runCommand, UsageError } from "./command-line/command.js";
import { runTestFiles } from "./test/execution.js";
import { selectTests } from "./test/selection.js";

/** Set by `npm run test:all` in package.json. */
const isAll = process.argv.includes("--all");

const usage = `Usage: ${isAll ? "npm run test:all" : "npm test"} [-- word …]

Checks types and format, then runs all tests. With words, it runs the test files whose path contains one of them, such as
npm test -- wifi sound, and checks in parallel. Files named *.long.test.ts take minutes: npm test runs only those whose name
contains a word, npm run test:all runs all of them, and runs property tests at their full number of runs. With CI=true, up to
five failed files are run again, one at a time, and reported as flaky if they pass.`;

/** Set by most CI systems, whose machines are busier than a developer's. */
const isCi = Boolean(process.env.CI);
/** Maximum number of failed files that CI runs again; more have a common cause. */
const maxRepeated = 5;
const terminationMs = 15_000;
/** Generated folder, not committed. */
const groupsFolder = join(".cache", "tests");
/** More than the processors, since tests wait for sockets, disks and processes. */
const concurrency = availableParallelism() + 2;

await runCommand({ name: "test", usage, run });

async function run(given: readonly string[]): Promise<void> {
	const words = given.filter((word) => word !== "--all");
	const option = words.find((word) => word.startsWith("-"));
	if (option) throw new UsageError(`Unknown option "${option}".`);
	// Node 20 does not support globs after --test.
	const found = readdirSync("test", { recursive: true, encoding: "utf8" }).map((file) => join("test", file));
	const files = selectTests(found, { words, isAll });
	const strayWord = words.find((word) => selectTests(files, { words: [word], isAll }).length === 0);
	if (strayWord !== undefined) throw new UsageError(`No test file with "${strayWord}" in its path.`);
	const isFirst = words.length === 0;
	const check = spawn("npm run --silent check", {
		stdio: ["ignore", isFirst ? "inherit" : "pipe", "inherit"],
		shell: true,
	});
	const checked = Promise.all([exitCodeOf(check), check.stdout ? text(check.stdout) : ""]);
	if (isFirst && (await checked)[0] !== 0) {
		process.exitCode = 1;
		return;
	}
	if (isAll) process.env.PROPERTY_RUNS ??= "100";
	console.log(`Virtual devices run ${findXs().description}.`);
	// Takes minutes in a new clone. Tests that need it report a failure.
	await buildMachine().catch(() => {});
	let failed = await runTestFiles(files, { folder: groupsFolder, concurrency });
	if (isCi && failed.length > 0 && failed.length <= maxRepeated) failed = await repeat(failed);
	if (failed.length > 0) process.exitCode = 1;
	const [code, problems] = await checked;
	if (code !== 0) process.exitCode = 1;
	process.stdout.write(problems);
	// A child process of an unfinished test may keep its output open, for which Node would wait.
	setTimeout(() => process.exit(), terminationMs).unref();
}

/** Runs failed files again, and reports those that pass as flaky. @returns files that failed again */
async function repeat(files: readonly string[]): Promise<string[]> {
	console.log(`\nRunning failed files again, one at a time:\n${list(files)}`);
	const failed = await runTestFiles(files, { folder: groupsFolder, concurrency: 1 });
	const flaky = files.filter((file) => !failed.includes(file));
	if (flaky.length > 0) console.log(`\nFlaky, passed when run again:\n${list(flaky)}`);
	return failed;
}

function list(files: readonly string[]): string {
	return files.map((file) => `  ${file}\n`).join("");
}

/** `npm test` and `npm run test:all`: checks types and format, and runs the tests. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { text } from "node:stream/consumers";
import { run as runTests } from "node:test";
import { spec } from "node:test/reporters";
import { buildMachine } from "../hosts/virtual/node/build.js";
import { findXs } from "../hosts/virtual/node/xs.js";
import { exitCodeOf } from "./command-line/child.js";
import { runCommand, UsageError } from "./command-line/command.js";
import { groupTests } from "./test/grouping.js";
import { unfinishedMark } from "./test/limit.js";
import { selectTests } from "./test/selection.js";
import { Slowest } from "./test/slowest.js";

/** Set by `npm run test:all` in package.json. */
const isAll = process.argv.includes("--all");

const usage = `Usage: ${isAll ? "npm run test:all" : "npm test"} [-- word …]

Checks types and format, then runs all tests. With words, it runs the test files whose path contains one of them, such as
npm test -- wifi sound, and checks in parallel. Files named *.long.test.ts take minutes: npm test runs only those whose name
contains a word, npm run test:all runs all of them, and runs property tests at their full number of runs.`;

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
	const slowest = new Slowest();
	const unfinished: string[] = [];
	console.log(`Virtual devices run ${findXs().description}.`);
	// Takes minutes in a new clone. Tests that need it report a failure.
	await buildMachine().catch(() => {});
	const tests = runTests({ files: groupTests(files, groupsFolder), concurrency });
	const note = ({ file, nesting, details }: Ended) => {
		if (file !== undefined && nesting === 0) slowest.add(relative("", file), details.duration_ms);
	};
	tests.on("test:stderr", ({ message }) => {
		unfinished.push(...message.split(/(?<=\n)/).filter((line) => line.startsWith(unfinishedMark)));
	});
	tests.on("test:pass", note);
	tests.on("test:fail", (ended) => {
		note(ended);
		if (ended.todo === undefined || ended.todo === false) process.exitCode = 1;
	});
	const report = tests.compose(new spec());
	report.pipe(process.stdout, { end: false });
	await once(report, "end");
	console.log(`\n${unfinished.join("")}${slowest.format()}`);
	const [code, problems] = await checked;
	if (code !== 0) process.exitCode = 1;
	process.stdout.write(problems);
	// A child process of an unfinished test may keep its output open, for which Node would wait.
	setTimeout(() => process.exit(), terminationMs).unref();
}

/** Event of Node's test runner. */
interface Ended {
	readonly file?: string | undefined;
	readonly name: string;
	readonly nesting: number;
	readonly details: { readonly duration_ms: number };
}

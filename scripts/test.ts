/** `npm test`: checks types and format, then runs the tests. */

import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { exitCodeOf } from "./command-line/child.js";
import { runCommand, UsageError } from "./command-line/command.js";

const usage = `Usage: npm test [-- word …]

Checks types and format, then runs the test files whose path contains all of the words, such as: npm test -- gateway`;

/** The simulator's tests build the firmware first, which takes minutes. */
const testTimeoutMs = 10 * 60_000;

await runCommand({ name: "test", usage, run });

async function run(words: readonly string[]): Promise<void> {
	const option = words.find((word) => word.startsWith("-"));
	if (option) throw new UsageError(`"${option}" is not understood.`);
	// Node 20 takes no glob after --test.
	const files = readdirSync("test", { recursive: true, encoding: "utf8" })
		.filter((file) => file.endsWith(".test.ts"))
		.map((file) => join("test", file))
		.filter((file) => words.every((word) => file.includes(word)))
		.sort();
	if (files.length === 0) throw new UsageError(`No test file has ${words.join(" and ")} in its path.`);
	const check = spawn("npm run check", { stdio: "inherit", shell: true });
	process.exitCode = (await exitCodeOf(check)) ?? 1;
	if (process.exitCode !== 0) return;
	const limits = [`--test-timeout=${testTimeoutMs}`, `--test-concurrency=${availableParallelism()}`];
	// Names what failed once more at the end, also where a log keeps no more than that: Node 20 takes TAP there.
	const reporter = "--test-reporter=spec";
	const tests = spawn(process.execPath, ["--import", "tsx", "--test", reporter, ...limits, ...files], {
		stdio: "inherit",
	});
	process.exitCode = (await exitCodeOf(tests)) ?? 1;
}

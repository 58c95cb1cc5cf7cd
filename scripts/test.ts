/**
 * Runs the tests: `npm test`, or `npm test -- gateway` for the files whose path contains a word. Node 20 takes no glob
 * after --test, so the files are listed here.
 */

import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";

/** A test file that hangs is ended and named. Those of the simulator build the firmware first, which takes minutes. */
const longestTestMs = 10 * 60_000;

const words = process.argv.slice(2);
const files = readdirSync("test", { recursive: true, encoding: "utf8" })
	.filter((file) => file.endsWith(".test.ts"))
	.map((file) => join("test", file))
	.filter((file) => words.every((word) => file.includes(word)))
	.sort();
if (files.length === 0) {
	console.error(`no test file has ${words.join(" and ")} in its path`);
	process.exit(1);
}
const node = spawn(
	process.execPath,
	[
		"--import",
		"tsx",
		"--test",
		`--test-timeout=${longestTestMs}`,
		`--test-concurrency=${availableParallelism()}`,
		...files,
	],
	{ stdio: "inherit" },
);
node.on("exit", (code) => process.exit(code ?? 1));

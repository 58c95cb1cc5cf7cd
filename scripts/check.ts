/** `npm run check`: checks lint, format, types, comments and line budgets. */

import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { checkBudget, measureFolders } from "./check/budget.js";
import { findFragments } from "./check/comments.js";
import { exitCodeOf } from "./command-line/child.js";
import { type Arguments, runCommand } from "./command-line/command.js";
import { projectFolder } from "./command-line/project.js";

const usage = `Usage: npm run check [-- --types]

Checks lint and format, the types of each folder with a tsconfig.json, comments that start with a fragment such as "Of", and
the lines of code of each folder in "budget" of package.json. Exceeding the budget is a warning; with CI=true, exceeding it by
2 % is an error. Reports all failures. With --types, it checks types only.`;

const options = { types: { type: "boolean" } } as const;

await runCommand({ name: "check", usage, options, run });

async function run({ values: { types: isTypesOnly } }: Arguments<typeof options>): Promise<void> {
	const types = runTool("tsc", "--build", "--pretty", "false", ...projects("."));
	const colors = `--colors=${process.stdout.isTTY === true ? "force" : "off"}`;
	const areDone = await Promise.all(isTypesOnly ? [types] : [runTool("biome", "ci", colors, "."), types]);
	if (areDone.includes(false)) process.exitCode = 1;
	if (isTypesOnly) return;
	const { budget } = JSON.parse(readFileSync("package.json", "utf8"));
	const isCi = ["true", "1"].includes(process.env.CI ?? "");
	const { text: sizes, isFailed } = checkBudget(measureFolders(budget, "."), isCi);
	const fragments = findFragments(".", ["device", "gateway", "hosts", "scripts", "test"]);
	console.log([...fragments, sizes].join("\n"));
	if (isFailed || fragments.length > 0) process.exitCode = 1;
}

/** Runs a tool, and prints its output if it fails. @returns whether it succeeded */
async function runTool(name: string, ...words: readonly string[]): Promise<boolean> {
	const tool = spawn(join(projectFolder, "node_modules", ".bin", name), words);
	const outputs = [tool.stdout, tool.stderr].map((stream) => text(stream));
	const isDone = (await exitCodeOf(tool)) === 0;
	// The projects share files, so tsc repeats their errors.
	const lines = (await Promise.all(outputs)).join("").trim().split("\n");
	const shown = lines.filter((line, index) => !line.includes(" error TS") || lines.indexOf(line) === index);
	console.log(isDone ? `✔ ${name}` : `✘ ${name}\n${shown.join("\n")}`);
	return isDone;
}

/** Lists folders with a tsconfig.json. */
function projects(folder: string): readonly string[] {
	const entries = readdirSync(folder, { withFileTypes: true });
	const here = entries.some(({ name }) => name === "tsconfig.json") ? [folder] : [];
	const below = entries
		.filter((entry) => entry.isDirectory() && entry.name !== "node_modules" && !entry.name.startsWith("."))
		.map(({ name }) => join(folder, name));
	return [...here, ...below.flatMap(projects)];
}

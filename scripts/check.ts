/** `npm run check`: checks lint, format, types, comments and line budgets. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checkBudget, measureFolders } from "./check/budget.js";
import { findFragments } from "./check/comments.js";
import { type Arguments, runCommand } from "./command-line/command.js";
import { projectFolder } from "./command-line/project.js";
import { runSteps, type Step } from "./command-line/steps.js";

const usage = `Usage: npm run check [-- --types]

Checks lint and format, the types of each folder with a tsconfig.json, comments that start with a fragment such as "Of", and
the lines of code of each folder in "budget" of package.json. Exceeding the budget is a warning; with CI=true, exceeding it by
2 % is an error. Reports all failures. With --types, it checks types only.`;

const options = { types: { type: "boolean" } } as const;

await runCommand({ name: "check", usage, options, run });

async function run({ values: { types: isTypesOnly } }: Arguments<typeof options>): Promise<void> {
	const hasColors = process.stdout.isTTY === true;
	const tool = (name: string) => join(projectFolder, "node_modules/.bin", name);
	const lint: Step = {
		name: "biome ci .",
		command: tool("biome"),
		words: ["ci", `--colors=${hasColors ? "force" : "off"}`, "."],
	};
	const types = projects(projectFolder).map((folder) => ({
		name: `tsc -p ${folder}`,
		command: tool("tsc"),
		words: ["-p", folder, "--pretty", "false", "--incremental", "--tsBuildInfoFile", buildInfo(folder)],
	}));
	const isDone = await runSteps(isTypesOnly ? types : [lint, ...types], (text) => console.log(text));
	if (!isDone) process.exitCode = 1;
	if (isTypesOnly) return;
	const { budget } = JSON.parse(readFileSync(join(projectFolder, "package.json"), "utf8"));
	const isCi = ["true", "1"].includes(process.env.CI ?? "");
	const { text, isFailed } = checkBudget(measureFolders(budget, projectFolder), isCi);
	const fragments = findFragments(projectFolder, ["device", "gateway", "hosts", "scripts", "test"]);
	console.log([...fragments, text].join("\n"));
	if (isFailed || fragments.length > 0) process.exitCode = 1;
}

/** @returns file with tsc's results, so that the next check reads only what changed */
function buildInfo(folder: string): string {
	return join(projectFolder, ".cache", "tsc", `${folder.replaceAll(/[\\/]/g, "-")}.tsbuildinfo`);
}

/** Lists folders with a tsconfig.json. */
function projects(root: string, folder = "."): readonly string[] {
	const entries = readdirSync(join(root, folder), { withFileTypes: true });
	const here = entries.some(({ name }) => name === "tsconfig.json") ? [folder] : [];
	const below = entries
		.filter((entry) => entry.isDirectory() && entry.name !== "node_modules" && !entry.name.startsWith("."))
		.map(({ name }) => join(folder, name))
		.sort();
	return [...here, ...below.flatMap((folder) => projects(root, folder))];
}

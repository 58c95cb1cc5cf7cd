/** `npm run check`: lint, format and the types of every TypeScript project. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { refuseWords, runCommand } from "./command-line/command.js";
import { projectFolder } from "./command-line/project.js";
import { runSteps, type Step } from "./command-line/steps.js";

const usage = `Usage: npm run check

Checks lint and format, and the types of each folder with a tsconfig.json. Reports all failures.`;

await runCommand({ name: "check", usage, run });

async function run(words: readonly string[]): Promise<void> {
	refuseWords(words);
	const hasColours = process.stdout.isTTY === true;
	const tool = (name: string) => join(projectFolder, "node_modules/.bin", name);
	const lint: Step = {
		name: "biome ci .",
		command: tool("biome"),
		words: ["ci", `--colors=${hasColours ? "force" : "off"}`, "."],
	};
	const types = projects(projectFolder).map((folder) => ({
		name: `tsc -p ${folder}`,
		command: tool("tsc"),
		words: ["-p", folder, "--pretty", String(hasColours)],
	}));
	const isDone = await runSteps([lint, ...types], (text) => console.log(text));
	if (!isDone) process.exitCode = 1;
}

/** Folders with a tsconfig.json. */
function projects(root: string, folder = "."): readonly string[] {
	const entries = readdirSync(join(root, folder), { withFileTypes: true });
	const here = entries.some(({ name }) => name === "tsconfig.json") ? [folder] : [];
	const below = entries
		.filter((entry) => entry.isDirectory() && entry.name !== "node_modules" && !entry.name.startsWith("."))
		.map(({ name }) => join(folder, name))
		.sort();
	return [...here, ...below.flatMap((each) => projects(root, each))];
}

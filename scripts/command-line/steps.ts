/** Runs commands side by side and reports each, whether or not others fail. */

import { execFile } from "node:child_process";

export interface Step {
	/** As a person would type it. */
	readonly name: string;
	readonly command: string;
	readonly words: readonly string[];
}

/** tsc may print an error for each line. */
const maxBuffer = 64 << 20;

/**
 * @param print gets a text when a step has ended: its name, and its output if it failed, except problems that an earlier
 * step has reported @returns whether all succeeded
 */
export async function runSteps(steps: readonly Step[], print: (text: string) => void): Promise<boolean> {
	const reported = new Set<string>();
	const outcomes = await Promise.all(
		steps.map(async (step) => {
			const output = await problemOf(step);
			if (output === undefined) {
				print(`✔ ${step.name}`);
				return true;
			}
			// A problem is a line and the indented lines below it.
			const problems = output.trim().split(/\n(?=\S)/);
			const others = problems.filter((problem) => !reported.has(problem.trim()));
			for (const problem of others) reported.add(problem.trim());
			print(`✘ ${step.name}${others.length === 0 ? ": see above" : `\n${others.join("\n")}`}`);
			return false;
		}),
	);
	return outcomes.every((isDone) => isDone);
}

/** @returns what a step that fails prints; undefined: it succeeds */
function problemOf({ command, words }: Step): Promise<string | undefined> {
	return new Promise((resolve) =>
		execFile(command, words, { maxBuffer }, (error, stdout, stderr) =>
			resolve(error ? stdout + stderr || error.message : undefined),
		),
	);
}

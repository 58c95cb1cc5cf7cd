/** Runs commands in parallel and reports each of them. */

import { execFile } from "node:child_process";

export interface Step {
	/** Command line to display. */
	readonly name: string;
	readonly command: string;
	readonly words: readonly string[];
}

/** Maximum output in bytes; tsc may print an error per line. */
const maxBuffer = 64 << 20;

/**
 * @param print called with the name of each completed step, and its output if it failed, without problems that an earlier step
 * reported @returns whether all succeeded
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
			// A problem is a line followed by indented lines.
			const problems = output.trim().split(/\n(?=\S)/);
			const others = problems.filter((problem) => !reported.has(problem.trim()));
			for (const problem of others) reported.add(problem.trim());
			print(`✘ ${step.name}${others.length === 0 ? ": see above" : `\n${others.join("\n")}`}`);
			return false;
		}),
	);
	return outcomes.every((isDone) => isDone);
}

/** @returns output of a failed step; undefined after success */
function problemOf({ command, words }: Step): Promise<string | undefined> {
	return new Promise((resolve) =>
		execFile(command, words, { maxBuffer }, (error, stdout, stderr) =>
			resolve(error ? stdout + stderr || error.message : undefined),
		),
	);
}

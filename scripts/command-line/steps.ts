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

/** @param print called with the name of each completed step, and its output if it failed @returns whether all succeeded */
export async function runSteps(steps: readonly Step[], print: (text: string) => void): Promise<boolean> {
	const outcomes = await Promise.all(
		steps.map(async (step) => {
			const output = await problemOf(step);
			print(output === undefined ? `✔ ${step.name}` : `✘ ${step.name}\n${output.trim()}`);
			return output === undefined;
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

/** Runs commands side by side and reports each, whether or not others fail. */

import { spawn } from "node:child_process";

export interface Step {
	/** As a person would type it. */
	readonly name: string;
	readonly command: string;
	readonly words: readonly string[];
}

/**
 * @param print gets a text when a step has ended: its name, and its output if it failed @returns whether all
 * succeeded
 */
export async function runSteps(steps: readonly Step[], print: (text: string) => void): Promise<boolean> {
	const outcomes = await Promise.all(
		steps.map(async (step) => {
			const { isDone, output } = await runStep(step);
			print(isDone ? `✔ ${step.name}` : `✘ ${step.name}\n${output}`);
			return isDone;
		}),
	);
	return outcomes.every((isDone) => isDone);
}

function runStep({ command, words }: Step): Promise<{ readonly isDone: boolean; readonly output: string }> {
	return new Promise((resolve) => {
		const child = spawn(command, words, { stdio: ["ignore", "pipe", "pipe"] });
		let output = "";
		for (const stream of [child.stdout, child.stderr])
			stream.setEncoding("utf8").on("data", (text: string) => {
				output += text;
			});
		child.on("error", (error) => resolve({ isDone: false, output: error.message }));
		child.on("close", (code) => resolve({ isDone: code === 0, output }));
	});
}

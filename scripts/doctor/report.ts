/** Report of `npm run doctor`. */

import { type Machine, ToolError, WrongToolError } from "../command-line/machine.js";
import { checks, type Purpose, purposes } from "./checks.js";

export interface Report {
	readonly lines: readonly string[];
	/** Whether all required checks passed. */
	readonly isComplete: boolean;
}

/** Runs the checks. @param requested default: all purposes */
export async function runChecks(machine: Machine, requested?: Purpose): Promise<Report> {
	const selected = checks.filter((check) => requested === undefined || check.purposes.includes(requested));
	const width = Math.max(...selected.map(({ name }) => name.length));
	const lines: string[] = [];
	const incomplete = new Set<Purpose>();
	for (const check of selected) {
		const name = check.name.padEnd(width);
		try {
			lines.push(`✔ ${name}  ${await check.run(machine)}`);
		} catch (error) {
			if (!(error instanceof ToolError)) throw error;
			const mark = check.isOptional ? "–" : "✘";
			const state = check.isOptional ? "" : error instanceof WrongToolError ? "wrong: " : "missing: ";
			lines.push(`${mark} ${name}  ${state}${error.problem}`, `${" ".repeat(width + 4)}→ ${error.fix}`);
			if (!check.isOptional) for (const purpose of check.purposes) incomplete.add(purpose);
		}
	}
	const shown = requested === undefined ? purposes : [requested];
	lines.push(
		"",
		...shown.map((purpose) => `${sentences[purpose]}: ${incomplete.has(purpose) ? "not ready" : "ready"}`),
	);
	return { lines, isComplete: !shown.some((purpose) => incomplete.has(purpose)) };
}

const sentences: Readonly<Record<Purpose, string>> = {
	demo: "npm run demo",
	simulator: "npm run simulator",
	board: "npm run flash",
};

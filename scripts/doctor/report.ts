/** Report of `npm run doctor`. */

import { isProblem, type Machine } from "../command-line/machine.js";
import { checks, type Purpose, purposes } from "./checks.js";

export interface Report {
	readonly lines: readonly string[];
	/** Whether all that is needed is there. */
	readonly isWell: boolean;
}

/** @param asked undefined: for everything */
export async function examine(machine: Machine, asked?: Purpose): Promise<Report> {
	const meant = checks.filter((check) => asked === undefined || check.purposes.includes(asked));
	const width = Math.max(...meant.map(({ name }) => name.length));
	const lines: string[] = [];
	const lacking = new Set<Purpose>();
	for (const check of meant) {
		const finding = await check.look(machine);
		const name = check.name.padEnd(width);
		if (!isProblem(finding)) {
			lines.push(`✔ ${name}  ${finding.what}`);
			continue;
		}
		const mark = check.isOptional ? "–" : "✘";
		const state = check.isOptional ? "" : finding.isWrong ? "wrong: " : "missing: ";
		lines.push(`${mark} ${name}  ${state}${finding.problem}`, `${" ".repeat(width + 4)}→ ${finding.fix}`);
		if (!check.isOptional) for (const purpose of check.purposes) lacking.add(purpose);
	}
	const shown = asked === undefined ? purposes : [asked];
	lines.push(
		"",
		...shown.map((purpose) => `${sentences[purpose]}: ${lacking.has(purpose) ? "not yet" : "ready"}`),
	);
	return { lines, isWell: !shown.some((purpose) => lacking.has(purpose)) };
}

const sentences: Readonly<Record<Purpose, string>> = {
	demo: "npm run demo",
	simulator: "npm run simulator",
	board: "npm run flash",
};

/** Lines of code per folder, and their limits: `budget` in package.json. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface BudgetFolder {
	/** Path of the folder, without nested budget folders. */
	readonly name: string;
	readonly lines: number;
	/** Limit in package.json. */
	readonly most: number;
}

/** Share above the limit that CI accepts, for local changes such as a new board. */
const headroom = 0.02;
const isCode = /\.([cm]?[jt]sx?|css|c|h)$/;

/** Counts lines. @param budget limits by folder @param root project folder @throws NodeJS.ErrnoException for a missing folder */
export function measureFolders(
	budget: Readonly<Record<string, number>>,
	root: string,
): readonly BudgetFolder[] {
	const names = Object.keys(budget);
	return Object.entries(budget).map(([name, most]) => ({ name, lines: linesBelow(root, name, names), most }));
}

/** @returns a line per folder, and whether one exceeds its limit by more than the headroom, in CI only */
export function checkBudget(
	folders: readonly BudgetFolder[],
	isCi: boolean,
): { text: string; isFailed: boolean } {
	const isFailing = ({ lines, most }: BudgetFolder) => isCi && lines > most * (1 + headroom);
	const texts = folders.map((folder) => {
		const [lines, most] = [folder.lines, folder.most].map((count) => count.toLocaleString("en"));
		const counts = `${folder.name}: ${lines} lines of code, limit ${most}`;
		if (folder.lines <= folder.most) return counts;
		return `${isFailing(folder) ? "✘" : "⚠"} ${counts}. Remove duplicated or unused code. Raise "budget" in package.json only for a new feature. CI fails from ${headroom * 100} % above the limit.`;
	});
	return { text: texts.join("\n"), isFailed: folders.some(isFailing) };
}

/** Counts lines that are neither blank nor only a comment. */
export function countLines(text: string): number {
	let count = 0;
	let isInComment = false;
	for (const line of text.split("\n").map((untrimmed) => untrimmed.trim())) {
		if (!isInComment && line !== "" && !line.startsWith("//") && !line.startsWith("/*")) count += 1;
		if (!isInComment && line.startsWith("/*")) isInComment = true;
		if (isInComment && line.includes("*/")) isInComment = false;
	}
	return count;
}

function linesBelow(root: string, folder: string, nested: readonly string[]): number {
	let lines = 0;
	for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
		const path = `${folder}/${entry.name}`;
		if (entry.name.startsWith(".") || entry.name === "node_modules" || nested.includes(path)) continue;
		if (entry.isDirectory()) lines += linesBelow(root, path, nested);
		else if (isCode.test(entry.name)) lines += countLines(readFileSync(join(root, path), "utf8"));
	}
	return lines;
}

/** How many lines of code each room of the project has, and may have: `budget` in package.json. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Room {
	/** A folder, without the rooms inside of it. */
	readonly name: string;
	readonly lines: number;
	/** As package.json says. */
	readonly most: number;
}

const isCode = /\.([cm]?[jt]sx?|css|c|h)$/;

/**
 * @param budget the most lines of each room @param root of the project
 * @throws NodeJS.ErrnoException if a room is no folder
 */
export function roomsOf(budget: Readonly<Record<string, number>>, root: string): readonly Room[] {
	const names = Object.keys(budget);
	return Object.entries(budget).map(([name, most]) => ({ name, lines: linesBelow(root, name, names), most }));
}

/** A line for each room, and for one that is too large what to do. */
export function describeRooms(rooms: readonly Room[]): string {
	const lines = rooms.map(({ name, lines, most }) => {
		const counts = `${name}: ${lines.toLocaleString("en")} lines of code, of at most ${most.toLocaleString("en")}`;
		if (lines <= most) return counts;
		return `✘ ${counts}. Remove what is duplicated or unused; "budget" in package.json is raised only for a new capability.`;
	});
	return lines.join("\n");
}

/** Neither blank nor a comment alone. */
export function countLines(text: string): number {
	let count = 0;
	let isInComment = false;
	for (const line of text.split("\n").map((each) => each.trim())) {
		if (!isInComment && line !== "" && !line.startsWith("//") && !line.startsWith("/*")) count += 1;
		if (!isInComment && line.startsWith("/*")) isInComment = true;
		if (isInComment && line.includes("*/")) isInComment = false;
	}
	return count;
}

function linesBelow(root: string, folder: string, rooms: readonly string[]): number {
	let lines = 0;
	for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
		const path = `${folder}/${entry.name}`;
		if (entry.name.startsWith(".") || entry.name === "node_modules" || rooms.includes(path)) continue;
		if (entry.isDirectory()) lines += linesBelow(root, path, rooms);
		else if (isCode.test(entry.name)) lines += countLines(readFileSync(join(root, path), "utf8"));
	}
	return lines;
}

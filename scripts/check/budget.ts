/** Lines of code per folder, and their limits: `budget` in package.json. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Room {
	/** A folder, without the rooms inside of it. */
	readonly name: string;
	readonly lines: number;
	/** Limit in package.json. */
	readonly most: number;
}

/** Share above the limit that CI accepts, for local changes such as a new board. */
const headroom = 0.02;
const isCode = /\.([cm]?[jt]sx?|css|c|h)$/;

/**
 * @param budget the most lines of each room @param root of the project
 * @throws NodeJS.ErrnoException if a room is no folder
 */
export function roomsOf(budget: Readonly<Record<string, number>>, root: string): readonly Room[] {
	const names = Object.keys(budget);
	return Object.entries(budget).map(([name, most]) => ({ name, lines: linesBelow(root, name, names), most }));
}

/** @returns a line for each room, and whether one fails: beyond the headroom, and in CI only */
export function checkBudget(rooms: readonly Room[], isCi: boolean): { text: string; isFailed: boolean } {
	const isFailing = ({ lines, most }: Room) => isCi && lines > most * (1 + headroom);
	const texts = rooms.map((room) => {
		const [lines, most] = [room.lines, room.most].map((count) => count.toLocaleString("en"));
		const counts = `${room.name}: ${lines} lines of code, of at most ${most}`;
		if (room.lines <= room.most) return counts;
		return `${isFailing(room) ? "✘" : "⚠"} ${counts}. Remove duplicated or unused code. "budget" in package.json is raised only for a new capability. CI fails from ${headroom * 100} % above it.`;
	});
	return { text: texts.join("\n"), isFailed: rooms.some(isFailing) };
}

/** Counts lines that are neither blank nor only a comment. */
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

/** Selection of test files for `npm test`. */

import { basename } from "node:path";

/** Suffix of files that `npm run test:all` runs. */
const longEnding = ".long.test.ts";

export function isLong(file: string): boolean {
	return file.endsWith(longEnding);
}

export interface Selection {
	/** Words of which each path contains at least one; empty selects all files. */
	readonly words: readonly string[];
	/** Includes long files; otherwise their name must contain a word. */
	readonly isAll: boolean;
}

export function selectTests(files: readonly string[], { words, isAll }: Selection): readonly string[] {
	const has = (text: string) => words.some((word) => text.includes(word));
	return files
		.filter((file) => file.endsWith(".test.ts") && (words.length === 0 || has(file)))
		.filter((file) => isAll || !isLong(file) || has(basename(file, longEnding)))
		.sort();
}

/** Selects the test files of `npm test`. */

import { basename } from "node:path";

/** Run by `npm run test:all`. */
const longEnding = ".long.test.ts";

export function isLong(file: string): boolean {
	return file.endsWith(longEnding);
}

export interface Selection {
	/** Each path contains one of them; all files if there are none. */
	readonly words: readonly string[];
	/** Long files too; otherwise a word must be in their name. */
	readonly isAll: boolean;
}

export function selectTests(files: readonly string[], { words, isAll }: Selection): readonly string[] {
	const has = (text: string) => words.some((word) => text.includes(word));
	return files
		.filter((file) => file.endsWith(".test.ts") && (words.length === 0 || has(file)))
		.filter((file) => isAll || !isLong(file) || has(basename(file, longEnding)))
		.sort();
}

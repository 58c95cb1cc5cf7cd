/** Selects the test files of `npm test`. */

import { basename } from "node:path";

/** Run by `npm run test:all`. */
const longEnding = ".long.test.ts";

export function isLong(file: string): boolean {
	return file.endsWith(longEnding);
}

export interface Selection {
	/** Each path contains all. */
	readonly words: readonly string[];
	/** Long files too; otherwise a word must be in their name. */
	readonly isAll: boolean;
}

export function selectTests(files: readonly string[], { words, isAll }: Selection): readonly string[] {
	const isNamed = (file: string) => words.some((word) => basename(file, longEnding).includes(word));
	return files
		.filter((file) => file.endsWith(".test.ts") && words.every((word) => file.includes(word)))
		.filter((file) => isAll || !isLong(file) || isNamed(file))
		.sort();
}

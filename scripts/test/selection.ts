/** Selection of test files for `npm test`. */

import { basename, normalize } from "node:path";

/** Suffix of files that `npm run test:all` runs. */
const longEnding = ".long.test.ts";

export function isLong(file: string): boolean {
	return file.endsWith(longEnding);
}

export interface Selection {
	/** Words of which each path contains at least one; empty selects all files. */
	readonly words: readonly string[];
	/** Includes long files; otherwise a word must be their path or part of their name. */
	readonly isAll: boolean;
}

export function selectTests(files: readonly string[], { words, isAll }: Selection): readonly string[] {
	const parts = words.map((word) => (word.includes("/") ? normalize(word) : word));
	const isNamed = (file: string) =>
		parts.some((part) => (part.includes(".long") ? file : basename(file, longEnding)).includes(part));
	return files
		.filter((file) => file.endsWith(".test.ts"))
		.filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
		.filter((file) => isAll || !isLong(file) || isNamed(file))
		.sort();
}

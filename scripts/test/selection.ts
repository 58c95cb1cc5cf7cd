/** Selects the test files of a run of `npm test`. */

import { basename } from "node:path";

/** Files that take minutes; `npm run test:all` runs them. */
const longEnding = ".long.test.ts";

export interface Selection {
	/** Each selected path contains all of them. */
	readonly words: readonly string[];
	/** Includes long files; otherwise a word must be in a long file's own name. */
	readonly isAll: boolean;
}

export function selectTests(files: readonly string[], { words, isAll }: Selection): readonly string[] {
	const isNamed = (file: string) => words.some((word) => basename(file, longEnding).includes(word));
	return files
		.filter((file) => file.endsWith(".test.ts") && words.every((word) => file.includes(word)))
		.filter((file) => isAll || !file.endsWith(longEnding) || isNamed(file))
		.sort();
}

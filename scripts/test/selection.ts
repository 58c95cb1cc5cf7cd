/** Which test files a run of `npm test` has. */

import { basename } from "node:path";

/** Rounds of minutes, which `npm run test:all` runs. */
const longEnding = ".long.test.ts";

export interface Selection {
	/** Those of a path contain all of them. */
	readonly words: readonly string[];
	/** Includes the long ones. Otherwise a word must be in their own name. */
	readonly isAll: boolean;
}

export function selectTests(files: readonly string[], { words, isAll }: Selection): readonly string[] {
	const isNamed = (file: string) => words.some((word) => basename(file, longEnding).includes(word));
	return files
		.filter((file) => file.endsWith(".test.ts") && words.every((word) => file.includes(word)))
		.filter((file) => isAll || !file.endsWith(longEnding) || isNamed(file))
		.sort();
}

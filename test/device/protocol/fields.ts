/** Values of fields with a form, such as addresses, as gateway/api/interface.md defines them. */

import assert from "node:assert/strict";
import { type Json, withField } from "../../support/sample-report.js";

interface Values {
	readonly accepted: readonly Json[];
	readonly rejected: readonly Json[];
}

/** Values of fields, by their space-separated paths. */
export type Fields = Readonly<Record<string, Values>>;

export function pathsOf(fields: Fields): readonly (readonly [path: string, values: Values])[] {
	return Object.entries(fields).flatMap(([paths, values]) =>
		paths.split(" ").map((path) => [path, values] as const),
	);
}

/** Checks a field in a valid message. @param problemOf names the field that is wrong, or returns undefined */
export function checkField(
	message: { readonly [name: string]: Json },
	[path, { accepted, rejected }]: readonly [path: string, values: Values],
	problemOf: (message: { [name: string]: Json }) => string | undefined,
): void {
	for (const value of accepted)
		assert.equal(problemOf(withField(message, path, value)), undefined, JSON.stringify(value));
	for (const value of rejected) {
		const problem = problemOf(withField(message, path, value));
		assert.ok(problem?.includes(path), `${path} ${JSON.stringify(value)} gave: ${problem}`);
	}
}

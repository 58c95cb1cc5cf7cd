/** Values that fields of messages accept and reject, as gateway/api/interface.md defines them. */

import assert from "node:assert/strict";
import { type Json, withField } from "../../support/sample-report.js";

export interface Values {
	readonly accepted: readonly Json[];
	readonly rejected: readonly Json[];
	readonly isOptional?: true;
}

/** Values of fields, by their space-separated paths. */
export type Fields = Readonly<Record<string, Values>>;

export const optional = (values: Values): Values => ({ ...values, isOptional: true });
export const integers = (least: number, most: number): Values => ({
	accepted: [least, most],
	rejected: [least - 1, most + 1, least + 0.5, String(least), null, true, [least]],
});
export const uint32 = integers(0, 4_294_967_295);
export const percent = integers(0, 100);
export const share: Values = { accepted: [0, 0.5, 1], rejected: [-0.01, 1.01, "1", null] };
export const flag: Values = { accepted: [true, false], rejected: [0, 1, "true", null] };
export const text = (longest: number, shortest = 0): Values => ({
	accepted: ["x".repeat(shortest), "x".repeat(longest)],
	rejected: ["x".repeat(longest + 1), ...(shortest > 0 ? [""] : []), 1, null, false, {}],
});
export const names = (...allowed: readonly string[]): Values => ({
	accepted: allowed,
	rejected: ["other", "", allowed[0]?.toUpperCase() ?? "", 1, null],
});

export function pathsOf(fields: Fields): readonly (readonly [path: string, values: Values])[] {
	return Object.entries(fields).flatMap(([paths, values]) =>
		paths.split(" ").map((path) => [path, values] as const),
	);
}

/** Checks a field in a valid message. @param problemOf names the field that is wrong, or returns undefined */
export function checkField(
	message: { readonly [name: string]: Json },
	[path, { accepted, rejected, isOptional }]: readonly [path: string, values: Values],
	problemOf: (message: { [name: string]: Json }) => string | undefined,
): void {
	for (const value of accepted)
		assert.equal(problemOf(withField(message, path, value)), undefined, JSON.stringify(value));
	for (const value of isOptional ? rejected : [...rejected, undefined]) {
		const problem = problemOf(withField(message, path, value));
		assert.ok(problem?.includes(path), `${path} ${JSON.stringify(value)} gave: ${problem}`);
	}
	if (isOptional) assert.equal(problemOf(withField(message, path, undefined)), undefined, path);
}

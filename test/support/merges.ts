/** The rules of a merge: records that two processes have changed become the same, whichever comes first. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "./property-runs.js";

export function testMerge<T>(what: string, any: fc.Arbitrary<T>, merge: (one: T, other: T) => T): void {
	test(`${what}: in any order, and repeatedly`, () => {
		fc.assert(
			fc.property(any, any, any, (a, b, c) => {
				assert.deepEqual(merge(a, a), a);
				assert.deepEqual(merge(a, b), merge(b, a));
				assert.deepEqual(merge(merge(a, b), c), merge(a, merge(b, c)));
				assert.deepEqual(merge(merge(a, b), b), merge(a, b));
			}),
			{ numRuns: runs(2000) },
		);
	});
}

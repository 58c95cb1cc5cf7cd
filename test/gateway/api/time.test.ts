import assert from "node:assert/strict";
import { test } from "node:test";
import { isAhead, isDue } from "../../../gateway/api/time.js";

const minute = 60_000;

test("treats a stored due time as due once reached, or beyond the longest delay", () => {
	const now = 1000 * minute;
	for (const [at, expected] of [
		[now, true],
		[now + 1, false],
		[now + 40 * minute, false],
		// Written by a gateway with a slightly fast clock.
		[now + 41 * minute, false],
		[now + 41 * minute + 1, true],
		[Number.MAX_SAFE_INTEGER, true],
	] as const)
		assert.equal(isDue(at, now, 40 * minute), expected, String(at - now));
	const ahead = [0, minute, minute + 1].map((ms) => isAhead(now + ms, now));
	assert.deepEqual(ahead, [false, false, true]);
});

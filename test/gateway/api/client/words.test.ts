import assert from "node:assert/strict";
import { test } from "node:test";
import { age, bytes, duration, signalBars } from "../../../../gateway/api/client/words.js";

test("numbers are shown in usual units", () => {
	assert.deepEqual([0, 59, 60, 3_725, 200_000].map(duration), [
		"0 s",
		"59 s",
		"1 min",
		"1 h 2 min",
		"2 d 7 h",
	]);
	assert.deepEqual([0, 1999, 2000].map(age), ["just now", "just now", "2 s ago"]);
	assert.deepEqual([100, 187_000, 1_300_000].map(bytes), ["100 B", "183 KB", "1.2 MB"]);
	assert.deepEqual([-50, -60, -70, -85].map(signalBars), [4, 3, 2, 1]);
});

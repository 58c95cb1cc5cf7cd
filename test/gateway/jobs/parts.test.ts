import assert from "node:assert/strict";
import { test } from "node:test";
import { Parts } from "../../../gateway/jobs/parts.js";

test("ends with its last device; a later result moves the end only if the device has continued", () => {
	const states = ["sent", "failed", "done"] as const;
	const parts = new Parts({ states, lastStates: ["failed", "done"], first: {} });
	const steps = [
		["a", "sent", null],
		["b", "sent", null],
		["a", "done", null],
		["b", "failed", 3],
		["b", "done", 3],
		["b", "sent", null],
		["b", "done", 6],
	] as const;
	for (const [at, [deviceId, state, endedAt]] of steps.entries()) {
		parts.set(deviceId, state, { now: at, monotonic: 100 + at });
		assert.equal(parts.endedAt, endedAt, `step ${at}`);
	}
	assert.deepEqual(parts.counts, { sent: 0, failed: 0, done: 2 });
	const isEndedBefore = (age: number) => parts.endedBefore(age, { now: 0, monotonic: 107 });
	assert.deepEqual([1, 2].map(isEndedBefore), [true, false]);
});

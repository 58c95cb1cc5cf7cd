import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Backoff } from "../../../device/network/backoff.js";
import { clock } from "../update/timer.js";

/** @param random shares of each delay's range */
function begin(t: TestContext, random: number) {
	clock.clear();
	t.mock.method(Math, "random", () => random);
	let tries = 0;
	let exhausted = 0;
	const backoff = new Backoff({
		onRetry: () => {
			tries += 1;
		},
		onExhausted: () => {
			exhausted += 1;
		},
	});
	/** @returns the delay of the next attempt in seconds */
	const secondsUntilRetry = () => {
		const [{ now }, before] = [clock, tries];
		clock.runUntil(() => tries > before, 200_000);
		return Math.round(clock.now - now) / 1000;
	};
	const after = (end: "failed" | "rejected") => {
		backoff[end]();
		return secondsUntilRetry();
	};
	return { backoff, after, secondsUntilRetry, exhausted: () => exhausted };
}

test("delays are drawn from the upper half of 1, 2, 4, 8 and 16 s, then of a minute", (t) => {
	for (const [random, expected] of [
		[0, [0.5, 1, 2, 4, 8, 30, 0.5]],
		[0.999_999, [1, 2, 4, 8, 16, 60, 1]],
	] as const) {
		const { after, exhausted } = begin(t, random);
		const delays = expected.map(() => after("failed"));
		assert.deepEqual(delays, expected);
		assert.equal(exhausted(), 1);
	}
});

test("a pause lasts as long as requested plus its spread, and a rejection a minute", (t) => {
	const { backoff, after, secondsUntilRetry } = begin(t, 0.5);
	backoff.pause(40_000, 20_000);
	// A second end of the same connection schedules nothing.
	backoff.failed();
	assert.equal(backoff.isWaiting, true);
	assert.equal(secondsUntilRetry(), 50);
	after("failed");
	assert.equal(after("rejected"), 45);
	assert.equal(after("failed"), 0.75, "a new round");
});

test("a reset cancels the pending attempt", (t) => {
	const { backoff } = begin(t, 0);
	backoff.failed();
	backoff.reset();
	assert.deepEqual([backoff.isWaiting, clock.pending], [false, 0]);
});

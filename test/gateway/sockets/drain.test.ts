import assert from "node:assert/strict";
import { test } from "node:test";
import { Drain } from "../../../gateway/sockets/drain.js";

test("spreads the reconnects of a fleet from the restart over the time to admit it, at most a minute", (t) => {
	let now = 0;
	const random = t.mock.method(Math, "random", () => 0);
	const secondsOf = (devices: number, admittedASecond: number) => {
		now = 0;
		const drain = new Drain({ devices, admittedASecond, monotonic: () => now });
		return [0, 0.5, 1].map((drawn) => {
			random.mock.mockImplementation(() => drawn);
			return drain.retrySeconds();
		});
	};
	assert.deepEqual(secondsOf(0, 600), [3, 3, 3]);
	assert.deepEqual(secondsOf(400, 20), [3, 13, 23]);
	// Draining takes 4 s.
	assert.deepEqual(secondsOf(10_000, 600), [7, 15, 24]);
	assert.deepEqual(secondsOf(10_000, 0), [7, 37, 67]);
	const drain = new Drain({ devices: 10_000, admittedASecond: 0, monotonic: () => now });
	now = 3000;
	assert.equal(drain.retrySeconds(), 64);
	assert.equal(drain.devicesPer(20), 50);
});

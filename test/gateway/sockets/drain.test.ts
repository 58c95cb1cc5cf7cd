import assert from "node:assert/strict";
import { test } from "node:test";
import { createRetrySeconds } from "../../../gateway/sockets/drain.js";

test("spreads the reconnects of a fleet from the restart over the time to admit it, at most a minute", (t) => {
	const random = t.mock.method(Math, "random", () => 0);
	const secondsOf = (devices: number, admittedASecond: number) => {
		const retrySeconds = createRetrySeconds(devices, admittedASecond);
		return [0, 0.5, 1].map((drawn) => {
			random.mock.mockImplementation(() => drawn);
			return retrySeconds();
		});
	};
	assert.deepEqual(secondsOf(0, 600), [3, 3, 3]);
	assert.deepEqual(secondsOf(400, 20), [3, 13, 23]);
	assert.deepEqual(secondsOf(10_000, 600), [3, 11, 20]);
	assert.deepEqual(secondsOf(10_000, 0), [3, 33, 63]);
});

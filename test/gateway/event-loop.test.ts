import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createYield } from "../../gateway/event-loop.js";

test("runs each task in its own turn of the event loop, in order", async () => {
	const yieldToLoop = createYield();
	const done: number[] = [];
	const work = async (piece: number) => {
		await yieldToLoop();
		done.push(piece);
		if (piece === 1) void work(4);
	};
	for (const round of [1, 2]) {
		for (const piece of [1, 2, 3]) void work(piece);
		for (const soFar of [[1], [1, 2], [1, 2, 3], [1, 2, 3, 4]]) {
			await setImmediate();
			assert.deepEqual(done, soFar, `round ${round}`);
		}
		done.length = 0;
	}
});

test("runs several tasks in one turn on request", async () => {
	const yieldToLoop = createYield(globalThis.setImmediate, 2);
	let done = 0;
	for (let piece = 0; piece < 5; piece += 1) void yieldToLoop().then(() => (done += 1));
	for (const soFar of [2, 4, 5]) {
		await setImmediate();
		assert.equal(done, soFar);
	}
});

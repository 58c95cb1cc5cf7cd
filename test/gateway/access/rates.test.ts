import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Throttle } from "../../../gateway/access/rates.js";

/** Socket that records its calls, with a stopped clock. */
function stage(t: TestContext) {
	t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
	const calls: string[] = [];
	const socket = { pause: () => void calls.push("pause"), resume: () => void calls.push("resume") };
	return { calls, socket };
}

/** Rate limit of ten messages a second, with bursts of ten. */
function throttle(t: TestContext) {
	const { calls, socket } = stage(t);
	const taken: string[] = [];
	const rate = { perSecond: 10, burst: 10, monotonic: Date.now };
	const onMessage = (message: Buffer) => void taken.push(message.toString());
	const onPaused = () => void calls.push("onPaused");
	return { calls, taken, throttle: new Throttle(socket, rate, { onMessage, onPaused }) };
}

test("queues messages above the rate in order, and pauses their socket", (t) => {
	const { calls, taken, throttle: paced } = throttle(t);
	const texts = Array.from({ length: 25 }, (_, index) => String(index));
	for (const text of texts) paced.push(Buffer.from(text));
	assert.deepEqual([taken, calls], [texts.slice(0, 10), ["pause", "onPaused"]]);
	t.mock.timers.tick(1000);
	assert.deepEqual([taken, calls], [texts.slice(0, 20), ["pause", "onPaused"]]);
	t.mock.timers.tick(500);
	assert.deepEqual([taken, calls], [texts, ["pause", "onPaused", "resume"]]);
	t.mock.timers.tick(100);
	paced.push(Buffer.from("at once"));
	assert.deepEqual([taken.at(-1), calls.length], ["at once", 3]);
});

test("counts a long message as several", (t) => {
	const { calls, taken, throttle: paced } = throttle(t);
	for (let count = 0; count < 4; count += 1) paced.push(Buffer.alloc(10_000, "x"));
	assert.deepEqual([taken.length, calls], [2, ["pause", "onPaused"]]);
	t.mock.timers.tick(100);
	assert.equal(taken.length, 3);
	t.mock.timers.tick(450);
	assert.equal(taken.length, 3);
	t.mock.timers.tick(50);
	assert.deepEqual([taken.length, calls], [4, ["pause", "onPaused", "resume"]]);
});

test("drops queued messages when their socket closes", (t) => {
	const { taken, throttle: paced } = throttle(t);
	for (let count = 0; count < 25; count += 1) paced.push(Buffer.from("x"));
	paced.close();
	t.mock.timers.tick(60_000);
	assert.equal(taken.length, 10);
});

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Brake } from "../../gateway/sockets/brake.js";

function brake(t: TestContext) {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const calls: string[] = [];
	const socket = { pause: () => void calls.push("pause"), resume: () => void calls.push("resume") };
	return { calls, brake: new Brake({ socket, perSecond: 50, maxMs: 5000 }) };
}

test("a socket is not read for as long as its surplus would have taken", async (t) => {
	const { calls, brake: applied } = brake(t);
	for (let count = 0; count < 100; count++) applied.apply();
	await setImmediate();
	t.mock.timers.tick(1999);
	assert.deepEqual(calls, ["pause"]);
	t.mock.timers.tick(1);
	assert.deepEqual(calls, ["pause", "resume"]);
	applied.apply();
	await setImmediate();
	t.mock.timers.tick(20);
	assert.deepEqual(calls, ["pause", "resume", "pause", "resume"]);
});

test("the wait has an end, however large the surplus", async (t) => {
	const { calls, brake: applied } = brake(t);
	for (let count = 0; count < 100_000; count++) applied.apply();
	await setImmediate();
	t.mock.timers.tick(5000);
	assert.deepEqual(calls, ["pause", "resume"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { Random } from "../support/random.js";
import { drawSchedule } from "./schedule.js";

test("the same seed gives the same schedule, and another seed another one", () => {
	const draw = (seed: number) =>
		drawSchedule(new Random(seed).fork("schedule"), { steps: 200, devices: 50, monitors: 4 });
	assert.deepEqual(draw(7), draw(7));
	assert.notDeepEqual(draw(7), draw(8));
});

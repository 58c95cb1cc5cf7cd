import assert from "node:assert/strict";
import { test } from "node:test";
import { Random } from "../support/random.js";
import { drawSchedule } from "./schedule.js";

test("the same seed gives the same schedule, and another seed another one", () => {
	const draw = (seed: number) =>
		JSON.stringify(drawSchedule(new Random(seed), { steps: 200, devices: 50, monitors: 4 }));
	assert.equal(draw(7), draw(7));
	assert.notEqual(draw(7), draw(8));
});

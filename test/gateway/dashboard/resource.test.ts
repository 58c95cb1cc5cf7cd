import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Resource } from "../../../gateway/dashboard/page/app/resource.js";

test("a reload during a request repeats it once, and a failure keeps the value", async () => {
	const replies: { resolve(value: number): void; reject(error: Error): void }[] = [];
	let changes = 0;
	const read = () => new Promise<number>((resolve, reject) => replies.push({ resolve, reject }));
	const resource = new Resource(read, () => {
		changes += 1;
	});
	const loaded = resource.refresh();
	void resource.refresh();
	void resource.refresh();
	replies[0]?.resolve(1);
	await setImmediate();
	assert.deepEqual([replies.length, resource.isReading], [2, true]);
	replies[1]?.reject(new Error("unreachable"));
	await loaded;
	assert.deepEqual([replies.length, resource.isReading, changes], [2, false, 2]);
	assert.deepEqual([resource.value, resource.problem], [1, "unreachable"]);
});

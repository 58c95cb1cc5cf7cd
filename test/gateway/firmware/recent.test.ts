import assert from "node:assert/strict";
import { test } from "node:test";
import { createRecent } from "../../../gateway/firmware/recent.js";

function counted(maxAgeMs: number) {
	let time = 0;
	let loads = 0;
	const recent = createRecent<number>(maxAgeMs, () => time);
	return {
		get: (key: string) => recent(key, async () => ++loads),
		fail: (key: string) => recent(key, () => Promise.reject(new Error("no disk"))),
		pass: (ms: number) => {
			time += ms;
		},
	};
}

test("asks once within the age, also while the first answer is on its way, and again after it", async () => {
	const { get, pass } = counted(1000);
	assert.deepEqual(await Promise.all([get("a"), get("a"), get("b")]), [1, 1, 2]);
	pass(999);
	assert.equal(await get("a"), 1);
	pass(1);
	assert.equal(await get("a"), 3);
});

test("a failure is not remembered", async () => {
	const { get, fail } = counted(1000);
	await assert.rejects(fail("a"), /no disk/);
	assert.equal(await get("a"), 1);
});

test("an age of 0 remembers nothing, and of many only the last few are remembered", async () => {
	const never = counted(0);
	assert.deepEqual([await never.get("a"), await never.get("a")], [1, 2]);
	const { get } = counted(1000);
	for (const key of ["a", "b", "c", "d", "e"]) await get(key);
	assert.equal(await get("e"), 5);
	assert.equal(await get("a"), 6);
});

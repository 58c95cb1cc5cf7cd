import assert from "node:assert/strict";
import { test } from "node:test";
import { Cache } from "../../../gateway/storage/cache.js";

test("reads a key once, again after a failure, and evicts the least recently used one", async () => {
	const cache = new Cache<string>(2);
	const reads: string[] = [];
	const get = (key: string) =>
		cache.get(key, async () => {
			reads.push(key);
			return key;
		});
	await assert.rejects(
		cache.get("a", () => Promise.reject(new Error("unreadable"))),
		/unreadable/,
	);
	assert.deepEqual(await Promise.all([get("a"), get("a")]), ["a", "a"]);
	for (const key of ["b", "a", "c", "a", "b"]) await get(key);
	assert.deepEqual(reads, ["a", "b", "c", "b"]);
});

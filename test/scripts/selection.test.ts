import assert from "node:assert/strict";
import { test } from "node:test";
import { selectTests } from "../../scripts/test/selection.js";
import { Slowest } from "../../scripts/test/slowest.js";

const quick = ["test/gateway/killed.test.ts", "test/gateway/main.test.ts"];
const long = ["test/gateway/heap.long.test.ts", "test/gateway/killed.long.test.ts"];
const files = [...long, "test/gateway/process.ts", ...quick];

function select(isAll: boolean, ...words: readonly string[]): readonly string[] {
	return selectTests(files, { words, isAll });
}

test("npm test runs the quick files, npm run test:all the long ones too", () => {
	assert.deepEqual(select(false), quick);
	assert.deepEqual(select(true), [...long, ...quick].sort());
});

test("words select files by their path, and long ones by their name", () => {
	assert.deepEqual(select(false, "gateway"), quick);
	assert.deepEqual(select(true, "gateway", "heap"), [long[0]]);
	assert.deepEqual(select(false, "gateway", "heap"), [long[0]]);
	assert.deepEqual(select(false, "killed"), [long[1], quick[0]]);
	assert.deepEqual(select(false, "process"), []);
});

test("the slowest files are listed, with the time of all their tests", () => {
	const slowest = new Slowest();
	for (let index = 0; index < 12; index++) slowest.add(`${index}.test.ts`, index * 1000);
	slowest.add("3.test.ts", 20_000);
	const [title, first, ...rest] = slowest.format().split("\n");
	assert.equal(title, "Slowest files:");
	assert.equal(first, "   23.0 s  3.test.ts");
	assert.equal(rest.length, 9);
});

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { test } from "node:test";
import { groupTests } from "../../scripts/test/grouping.js";
import { selectTests } from "../../scripts/test/selection.js";
import { Slowest } from "../../scripts/test/slowest.js";
import { onEnd } from "../support/cleanup.js";

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

test("any of the words selects a file by its path, and a long one by its name", () => {
	assert.deepEqual(select(false, "gateway"), quick);
	assert.deepEqual(select(true, "main", "heap"), [long[0], quick[1]]);
	assert.deepEqual(select(false, "gateway", "heap"), [long[0], ...quick]);
	assert.deepEqual(select(false, "killed"), [long[1], quick[0]]);
	assert.deepEqual(select(false, "process"), []);
});

test("lists the slowest files with the time of all their tests", () => {
	const slowest = new Slowest();
	for (let index = 0; index < 12; index++) slowest.add(`${index}.test.ts`, index * 1000);
	slowest.add("3.test.ts", 20_000);
	const [title, first, ...rest] = slowest.format().split("\n");
	assert.equal(title, "Slowest files:");
	assert.equal(first, "   23.0 s  3.test.ts");
	assert.equal(rest.length, 9);
});

test("runs quick files of a folder in one process and long ones separately, the largest group first", (t) => {
	const folder = mkdtempSync(join(tmpdir(), "groups-"));
	onEnd(t, () => rmSync(folder, { recursive: true }));
	writeFileSync(join(folder, "old.ts"), "");
	const alone = "test/system/update.test.ts";
	const modules = [
		"test-gateway",
		"test-system",
		"test-gateway-heap.long.test",
		"test-gateway-killed.long.test",
	];
	const paths = modules.map((name) => join(folder, `${name}.ts`));
	assert.deepEqual(groupTests([alone, ...quick, ...long], folder), paths);
	assert.deepEqual(
		readdirSync(folder)
			.map((name) => join(folder, name))
			.sort(),
		paths.toSorted(),
	);
	const [limit = "", ...imported] = readFileSync(paths[0] ?? "", "utf8").split("\n");
	assert.match(limit, /limit\.ts\?ms=120000"/);
	assert.deepEqual(imported, [
		...quick.map((file) => `import ${JSON.stringify(relative(folder, file))};`),
		"",
	]);
	assert.match(readFileSync(paths[2] ?? "", "utf8"), /limit\.ts\?ms=1200000"/);
});

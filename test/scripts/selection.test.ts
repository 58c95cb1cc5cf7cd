import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { test } from "node:test";
import { compiledPath } from "../../scripts/test/compile.js";
import { groupTests } from "../../scripts/test/grouping.js";
import { selectTests } from "../../scripts/test/selection.js";
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
	for (const file of [...quick, ...long]) assert.deepEqual(select(false, file), [file]);
	for (const word of ["./test/gateway/heap.long.test.ts", "gateway/heap.long"])
		assert.deepEqual(select(false, word), [long[0]]);
});

test("runs quick files of a folder in one process and long ones separately, the largest group first", (t) => {
	const folder = mkdtempSync(join(tmpdir(), "groups-"));
	onEnd(t, () => rmSync(folder, { recursive: true }));
	const alone = "test/system/update.test.ts";
	const modules = [
		"test-gateway",
		"test-system",
		"test-gateway-heap.long.test",
		"test-gateway-killed.long.test",
	];
	const paths = modules.map((name) => join(folder, `${name}.js`));
	assert.deepEqual(groupTests([alone, ...quick, ...long], folder), paths);
	assert.deepEqual(
		readdirSync(folder)
			.map((name) => join(folder, name))
			.sort(),
		paths.toSorted(),
	);
	assert.deepEqual(
		readFileSync(paths[0] ?? "", "utf8")
			.trim()
			.split("\n"),
		["scripts/test/process.ts", ...quick].map(
			(file) => `import ${JSON.stringify(relative(folder, compiledPath(file)))};`,
		),
	);
});

import assert from "node:assert/strict";
import { readFile, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { writeDocument } from "../../scripts/api/write.js";
import { temporaryDirectory } from "../support/cleanup.js";

test("writes a changed document and reports it, and leaves an unchanged one alone", async (t) => {
	const path = join(await temporaryDirectory(t), "asyncapi.yaml");
	const write = (text: string) => writeDocument(pathToFileURL(path), text);
	assert.equal(write("a: 1\n"), `Wrote ${path}.`);
	assert.equal(write("a: 2\n"), `Wrote ${path}.`);
	await utimes(path, 1, 1);
	assert.equal(write("a: 2\n"), `${path} is up to date.`);
	assert.equal((await stat(path)).mtimeMs, 1000);
	assert.equal(await readFile(path, "utf8"), "a: 2\n");
});

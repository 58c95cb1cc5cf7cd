import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { findFragments } from "../../scripts/check/comments.js";
import { temporaryDirectory } from "../support/cleanup.js";

test("finds comments that start with a fragment, in all forms of comments", async (t) => {
	const root = await temporaryDirectory(t);
	await mkdir(join(root, "device/sound"), { recursive: true });
	const slashes = "//";
	await writeFile(
		join(root, "device/sound/example.ts"),
		[
			`${slashes} Of the codec.`,
			"/** Retry interval of the codec, in ms. */",
			`/** ${"What"} loads the sound. */`,
			"/**\n * In place of the sound.\n * That line is no start.\n */",
			`const url = "https:${slashes}As"; ${slashes} As a number.`,
			`${slashes} Offset of the sound.`,
		].join("\n"),
	);
	await writeFile(join(root, "device/sound/example.css"), `a {\n\t/* ${"Where"} a mouse is. */\n}`);
	await writeFile(join(root, "device/README.md"), `${slashes} Of a document.`);
	assert.deepEqual(
		[...findFragments(root, ["device"])].sort(),
		[
			"css:2: Where a mouse is. */",
			"ts:1: Of the codec.",
			"ts:3: What loads the sound. */",
			"ts:4: In place of the sound.",
			"ts:8: As a number.",
		].map((problem) => `device/sound/example.${problem.replace(": ", ": comment starts with a fragment: ")}`),
	);
});

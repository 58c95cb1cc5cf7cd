/** Deletes one extension per run, selected by the number of commits. deletion.ts deletes each of them. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { extensionNames } from "./extension-parts.js";

const names = extensionNames.filter((name) => existsSync(`gateway/${name}`));
const { stdout: commits } = spawnSync("git", ["rev-list", "--count", "HEAD"], { encoding: "utf8" });
const name = names[Number(commits) % names.length] ?? "";
/** Length of the output in a failure message. */
const shownLines = 40;

test(`compiles and passes its tests without ${name}`, { timeout: 15 * 60_000 }, () => {
	const words = ["--import", "tsx", "test/gateway/deletion.ts", name];
	const { status, stdout } = spawnSync(process.execPath, words, { encoding: "utf8", maxBuffer: 1 << 28 });
	const failed = stdout.split("\n").filter((line) => /^✖|^✘|error TS/.test(line));
	assert.equal(status, 0, failed.slice(0, shownLines).join("\n"));
});

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { temporaryDirectory } from "../../support/cleanup.js";
import { entryPoint } from "../../support/entry-point.js";
import { nextEvent } from "../../support/eventually.js";

/** Runs `npm run token` with only PATH from this environment. */
async function token(environment: Readonly<Record<string, string>>, ...words: readonly string[]) {
	const child = spawn(process.execPath, [...entryPoint("scripts/token.ts"), ...words], {
		env: { PATH: process.env.PATH, ...environment },
		stdio: ["ignore", "pipe", "pipe"],
	});
	const said = Promise.all([text(child.stdout), text(child.stderr)]);
	const [code] = await nextEvent(child, "close");
	const [output, error] = await said;
	return { code, output: output.trim(), error: error.trim() };
}

describe("npm run token", { concurrency: availableParallelism() }, () => {
	for (const words of [[], ["--turn"], ["a", "b"], ["../a"], ["--rotate", "page"], ["--rotate", "--retire"]])
		test(`prints its usage for npm run token -- ${words.join(" ")}`, async (t) => {
			const dataDir = await temporaryDirectory(t);
			const { code, error } = await token({ DATA_DIR: dataDir }, ...words);
			assert.equal(code, 1);
			assert.match(error, /^Usage: npm run token -- dev-1-7cdfa1a1b2c3/m);
			assert.deepEqual(await readdir(dataDir), []);
		});
});

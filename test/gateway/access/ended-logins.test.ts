import assert from "node:assert/strict";
import disk from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { EndedLogins } from "../../../gateway/access/ended-logins.js";
import { temporaryDirectory } from "../../support/running.js";

const year = 365 * 24 * 60 * 60 * 1000;

/** At the time 1000. @returns what opens the list of one data folder, and its path */
async function list(t: TestContext) {
	const dataDir = await temporaryDirectory(t);
	const open = async () => {
		const onProblem = (problem: string) => assert.fail(problem);
		const ended = new EndedLogins({ dataDir, disk, now: () => 1000, onProblem });
		await ended.open();
		return ended;
	};
	return { open, path: join(dataDir, "ended-logins.json") };
}

test("an ended login is on disk before it is answered, and expired ones are removed", async (t) => {
	const { open, path } = await list(t);
	const ended = await open();
	await ended.end("expired", 1000);
	await ended.end("another", year);
	assert.deepEqual(JSON.parse(await disk.readFile(path, "utf8")).ended, { another: year });
	assert.deepEqual([ended.has("another", year), ended.has("third", year)], [true, false]);
});

test("past 1000 ended logins all of the same age or older have ended, also after a restart, and no newer ones", async (t) => {
	const { open, path } = await list(t);
	const ended = await open();
	for (let count = 0; count < 1000; count += 1) void ended.end(`login ${count}`, year + count);
	assert.equal(ended.has("another", year), false);
	await ended.end("one too many", year);
	for (const each of [ended, await open()]) {
		assert.deepEqual([each.has("another", year), each.has("login 5", year + 5)], [true, true]);
		assert.equal(each.has("newer", year + 1000), false);
	}
	assert.deepEqual(JSON.parse(await disk.readFile(path, "utf8")).ended, {});
});

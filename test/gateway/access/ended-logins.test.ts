import assert from "node:assert/strict";
import disk from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { EndedLogins } from "../../../gateway/access/ended-logins.js";
import { fileRecords } from "../../../gateway/storage/file-records.js";
import type { CreateRecords } from "../../../gateway/storage/records.js";
import { temporaryDirectory } from "../../support/running.js";

const year = 365 * 24 * 60 * 60 * 1000;

/** Starts at time 1000. @returns the clock and a function that opens the list of one data folder */
async function list(t: TestContext) {
	const clock = { now: 1000 };
	const dataDir = await temporaryDirectory(t);
	const directory = join(dataDir, "ended-logins");
	const open = async () => {
		const onProblem = (problem: string) => assert.fail(problem);
		const records: CreateRecords = (kind) => fileRecords({ ...kind, directory, disk });
		const storage = { place: "disk", status: 507 } as const;
		const ended = new EndedLogins({ records, storage, now: () => clock.now, onProblem });
		await ended.open();
		return ended;
	};
	return { open, clock, names: () => disk.readdir(directory) };
}

test("writes an ended login before the response, and evicts expired ones when full", async (t) => {
	const { open, names } = await list(t);
	const ended = await open();
	for (let count = 0; count < 999; count += 1) void ended.end(`expired-${count}`, 1000);
	await ended.end("another", year);
	const kept = await names();
	assert.ok(kept.includes("another.json"), `kept: ${kept}`);
	await ended.end("third", year);
	await ended.close();
	assert.deepEqual((await names()).sort(), ["another.json", "third.json"]);
	assert.deepEqual([ended.has("another", year), ended.has("fourth", year)], [true, false]);
});

test("keeps a login ended after the clock was a year ahead", async (t) => {
	const { open, clock } = await list(t);
	const ended = await open();
	await ended.end("login", 1000 + year / 12);
	assert.equal(await ended.use("code", 5000), true);
	clock.now += year;
	await ended.end("another", clock.now + year / 12);
	clock.now -= year;
	await ended.close();
	for (const each of [ended, await open()]) {
		assert.equal(each.has("login", 1000 + year / 12), true);
		assert.equal(await each.use("code", 5000), false);
	}
});

test("ends all logins of the same age or older past 1000, across a restart, and no newer ones", async (t) => {
	const { open, names } = await list(t);
	const ended = await open();
	for (let count = 0; count < 1000; count += 1) void ended.end(`login-${count}`, year + count);
	assert.equal(ended.has("another", year), false);
	await ended.end("one-too-many", year);
	await ended.close();
	for (const each of [ended, await open()]) {
		assert.deepEqual([each.has("another", year), each.has("login-5", year + 5)], [true, true]);
		assert.equal(each.has("newer", year + 1000), false);
	}
	assert.deepEqual(await names(), ["all.json"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { EndedLogins } from "../../../gateway/access/ended-logins.js";
import { type OpenRecords, type RecordEngine, Records } from "../../../gateway/storage/records.js";
import { waitUntil } from "../../support/eventually.js";
import { emptyEngine } from "../../support/record-stubs.js";

const year = 365 * 24 * 60 * 60 * 1000;

/** Starts at time 1000. @returns the clock, and a function that opens the list of one data folder */
function list() {
	const clock = { now: 1000 };
	const stored = new Map<string, string>();
	const engine: RecordEngine = {
		...emptyEngine(),
		each: async (onText) => stored.forEach((text, key) => void onText(key, text)),
		write: async (key, text) => {
			await setImmediate();
			text === undefined ? stored.delete(key) : stored.set(key, text);
		},
	};
	const open = async () => {
		const records: OpenRecords = (kind) => new Records({ ...kind, engine, onProblem: assert.fail });
		const storage = { place: "disk", status: 507 } as const;
		const ended = new EndedLogins({ records, storage, now: () => clock.now });
		await ended.open();
		return ended;
	};
	return { open, clock, names: () => [...stored.keys()].sort() };
}

test("writes an ended login before the response, and removes expired ones when there are many", async () => {
	const { open, names } = list();
	const ended = await open();
	for (let count = 0; count < 999; count += 1) void ended.end(`expired-${count}`, 1000);
	await ended.end("another", year);
	const kept = names();
	assert.ok(kept.includes("another"), `kept: ${kept}`);
	await ended.end("third", year);
	await waitUntil(() => names().length === 2);
	assert.deepEqual(names(), ["another", "third"]);
	assert.deepEqual([ended.has("another"), ended.has("fourth")], [true, false]);
});

test("keeps a login ended after the clock was a year ahead", async () => {
	const { open, clock } = list();
	const ended = await open();
	await ended.end("login", 1000 + year / 12);
	assert.equal(await ended.use("code", 5000), true);
	clock.now += year;
	await ended.end("another", clock.now + year / 12);
	clock.now -= year;
	for (const logins of [ended, await open()]) {
		assert.equal(logins.has("login"), true);
		assert.equal(await logins.use("code", 5000), false);
	}
});

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import fs from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { migrateLog } from "../../../gateway/cluster/migration.js";
import { FileLog } from "../../../gateway/storage/file-log.js";
import { entriesOf } from "../../../gateway/storage/log.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { MemoryServer } from "../../support/memory-bus.js";

test("imports the keys of a log that the cluster lacks, completes a partial import, and keeps the folder of others", async (t) => {
	const dataDir = await temporaryDirectory(t);
	const problems: string[] = [];
	const options = { dataDir, disk: fs, onProblem: (problem: string) => problems.push(problem) };
	const directory = join(dataDir, "rollouts");
	const local = new FileLog({ ...options, directory });
	for (const key of ["new", "partial", "other"]) {
		const first = await local.append(key, '"1"', 0);
		await local.append(key, '"2"', first ?? 0);
	}
	const shared = await new MemoryServer().connect().log("gw-rollouts");
	await shared.append("partial", '"1"', 0);
	await shared.append("other", '"another"', 0);
	await migrateLog(options, "rollouts", shared);
	const texts = (await entriesOf(shared)).map(([key, { text }]) => `${key} ${text}`);
	const expected = ['new "1"', 'new "2"', 'partial "1"', 'partial "2"', 'other "another"'];
	assert.deepEqual(texts.sort(), expected.sort());
	assert.equal(existsSync(directory), true);
	assert.match(problems.join(), /not moved completely, as the cluster has these already: other\.$/);
	const { length } = texts;
	await local.replace("other", [], 2);
	await migrateLog(options, "rollouts", shared);
	assert.equal((await entriesOf(shared)).length, length);
	assert.equal(existsSync(directory), false);
});

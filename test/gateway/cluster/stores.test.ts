import assert from "node:assert/strict";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../support/cleanup.js";
import { runFast } from "../../support/fast-time.js";
import { runClustered } from "./gateways.js";
import { memoryBuses } from "./memory-buses.js";
import { testStores } from "./stores-contract.js";

testStores("memory", (t) => {
	runFast(t);
	return memoryBuses();
});

test("does not join a cluster while a folder's volume is not mounted", async (t) => {
	const dataDir = await temporaryDirectory(t);
	const volume = join(dataDir, "volume");
	await symlink(volume, join(dataDir, "devices"));
	const start = async () => runClustered(t, await (await memoryBuses()).connect(), { dataDir });
	await assert.rejects(start(), /devices is a link to \S+volume, which is missing/);
	await mkdir(volume);
	await start();
});

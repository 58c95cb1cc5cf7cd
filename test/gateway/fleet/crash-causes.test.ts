import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { type TestContext, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { Crash } from "../../../device/protocol/messages.js";
import type { CrashList } from "../../../gateway/api/crash-causes.js";
import { createBase } from "../../../gateway/base.js";
import { CrashCauses, type StoredCause } from "../../../gateway/fleet/crash-causes.js";
import { listCrashes } from "../../../gateway/fleet/crash-list.js";
import type { CrashHead } from "../../../gateway/fleet/crash-store.js";
import type { Disk } from "../../../gateway/storage/atomic-file.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { failingDisk } from "../../support/disk.js";
import { eventually } from "../../support/eventually.js";
import { countOf, crashed, crashes, crashOf, run, until } from "./crashed.js";

test("counts crashes by cause over devices and versions, across a restart", async (t) => {
	const { gateway, told } = await run(t);
	const { dataDir } = gateway;
	await crashed(gateway, "dev-1-a1b2c3", crashOf("1a", { firmware_version: "1.3.2" }));
	await crashed(gateway, "dev-1-a1b2c4", crashOf("2b2"));
	await crashed(gateway, "dev-1-a1b2c4", crashOf("3c"));
	await crashed(gateway, "dev-1-a1b2c4", crashOf("4d", { stack: "at play (device/sound/player.ts:3)" }));
	const list = await until(gateway, (listed) => countOf(listed) === 4);
	const cause = list.causes.find(({ count }) => count === 3);
	assert.ok(cause, `causes: ${JSON.stringify(list.causes)}`);
	assert.equal(cause.message, "TypeError: no face 26");
	assert.deepEqual(cause.frames, ["onButton (device/rules.ts)", "device/main.ts"]);
	assert.deepEqual([cause.first.version, cause.last.version, cause.deviceCount], ["1.3.2", "1.4.0", 2]);
	const samples = cause.samples.map(({ deviceId, crashId }) => `${deviceId} ${crashId}`).sort();
	assert.deepEqual(samples, ["dev-1-a1b2c3 1a", "dev-1-a1b2c4 3c"]);
	assert.equal(list.dropped, 0);
	const [first, second] = told;
	assert.equal(told.length, 2, "new cause reported repeatedly");
	assert.deepEqual([first?.device.deviceId, first?.cause.version], ["dev-1-a1b2c3", "1.3.2"]);
	assert.deepEqual(second?.cause.frames, ["play (device/sound/player.ts)"]);
	const items = [{ kind: "crash_new", id: cause.id }];
	assert.equal((await gateway.api("POST", "/api/issues/seen", { items })).status, 204);
	await gateway.gateway.close();
	const { gateway: later, told: toldLater } = await run(t, { dataDir });
	const kept = await crashes(later);
	const isSeen = ({ id, seen }: CrashList["causes"][number]) => [id, seen];
	assert.deepEqual(kept.causes.map(isSeen).sort(), list.causes.map(({ id }) => [id, id === cause.id]).sort());
	const found = kept.causes.find(({ id }) => id === cause.id);
	assert.deepEqual(found, { ...cause, seen: true });
	await crashed(later, "dev-1-a1b2c5", crashOf("5e"));
	const now = await until(later, (listed) => countOf(listed) === 5);
	assert.equal(now.causes.find(({ id }) => id === cause.id)?.seen, true);
	assert.deepEqual(toldLater, []);
});

/** Causes on disk with a clock. */
async function count(t: TestContext, disk: Disk = fs) {
	const clock = { ms: Date.parse("2026-11-21T12:00:00Z") };
	const [dataDir, log] = [await temporaryDirectory(t), createLog("silent")];
	const base = createBase({ dataDir, disk, now: () => clock.ms, log });
	const heads = new Map<string, readonly CrashHead[]>();
	const told: StoredCause[] = [];
	const causes = new CrashCauses({
		core: base,
		onNew: (cause) => void told.push(cause),
		onChanged: () => {},
	});
	await causes.open();
	t.after(() => causes.close());
	/** Adds a crash as its store keeps it. */
	const crash = async (deviceId: string, changes: Partial<Crash>) => {
		const added = crashOf("1a", changes);
		const version = added.firmware_version;
		heads.set(deviceId, [{ id: added.id, kind: added.kind, version, at: clock.ms, cause: "none" }]);
		await causes.count({ deviceId }, added);
	};
	const list = () => listCrashes(causes.known, { heads: () => heads }, base);
	return { clock, list, crash, told };
}

test("counts crashes and devices by version", async (t) => {
	const { list, crash } = await count(t);
	await crash("old", { firmware_version: "1.3.2" });
	for (let index = 0; index < 5; index++) await crash(`new-${index % 2}`, {});
	await crash("new-2", { stack: "at play (device/sound/player.ts:3)" });
	const { versions, causes } = await list();
	const counted = versions.map(({ version, count, deviceCount }) => [version, count, deviceCount].join());
	assert.deepEqual(counted, ["1.4.0,6,3", "1.3.2,1,1"]);
	const inCauses = causes.map(({ versions }) => versions.map(({ version, count }) => `${version} ${count}`));
	assert.deepEqual(inCauses.sort(), [["1.4.0 1"], ["1.4.0 5", "1.3.2 1"]]);
});

test("keeps 500 causes, and evicts those older than 90 days for new ones", async (t) => {
	const { clock, list, crash, told } = await count(t);
	const crashAt = (index: number) => ({ stack: `at f${"x".repeat(index)} (device/rules.ts:1)` });
	for (let index = 0; index < 501; index++) await crash(`device-${index}`, crashAt(index));
	assert.deepEqual([(await list()).causes.length, told.length], [500, 500]);
	clock.ms += 91 * 24 * 60 * 60_000;
	await crash("device-500", crashAt(500));
	assert.deepEqual([(await list()).causes.length, told.length], [500, 501]);
	assert.equal((await list()).causes[0]?.frames[0], `f${"x".repeat(500)} (device/rules.ts)`);
});

test("counts unwritten crashes once they can be written", async (t) => {
	const full = failingDisk("create", "ENOSPC");
	t.mock.timers.enable({ apis: ["setInterval"] });
	const { list, crash, told } = await count(t, full.disk);
	await crash("one", {});
	await crash("another", {});
	assert.deepEqual([(await list()).causes, (await list()).dropped, told], [[], 2, []]);
	full.isFailing = false;
	t.mock.timers.tick(60_000);
	const counts = async () => [(await list()).causes[0]?.count, told.length];
	await eventually(counts, (found) => isDeepStrictEqual(found, [2, 1]));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { CrashCause } from "../../../gateway/api/crash-causes.js";
import { deviceStatuses, zeros } from "../../../gateway/api/statuses.js";
import { groupIssues } from "../../../gateway/dashboard/page/model/issue-rows.js";
import { detailOf, titleOf } from "../../../gateway/dashboard/page/model/issue-text.js";

const at = "2026-11-21T12:00:00.000Z";
const moment = { version: "1.4.0", at };
const sample = (deviceId: string) => ({ deviceId, crashId: "1a", ...moment });
const cause: CrashCause = {
	id: "0f1e2d3c4b5a6978",
	kind: "exception",
	message: "TypeError: no face 7",
	frames: ["onButton (device/rules.ts)"],
	count: 3,
	first: moment,
	last: moment,
	versions: [],
	deviceCount: 2,
	samples: [sample("dev-1-a1b2c3"), sample("dev-1-a1b2c4")],
	seen: false,
};
const now = Date.parse(at);

test("shows one row for a cause with crashes of several devices and versions", () => {
	const versions = ["1.3.0", "1.4.0"].map((version) => ({ version, count: 1 }));
	const [found, ...others] = groupIssues({ entries: [], causes: [{ ...cause, versions }] }, now);
	assert.ok(found, "no row");
	assert.deepEqual(others, []);
	assert.equal(found.why, "TypeError: no face 7, in onButton (device/rules.ts).");
	assert.equal(titleOf(found), "TypeError in onButton");
	const reported = groupIssues({ entries: [], causes: [{ ...cause, message: "i2s write timed out" }] }, now);
	assert.deepEqual(reported.map(titleOf), ["i2s write timed out in onButton"]);
	assert.equal(detailOf(found), "New crash · 2 devices · 1.3.0, 1.4.0");
	const ids = found.issues.map(({ id }) => id);
	assert.deepEqual(ids, ["dev-1-a1b2c3", "dev-1-a1b2c4"]);
});

test("names a crash without frames or message by its type", () => {
	const [found] = groupIssues(
		{ entries: [], causes: [{ ...cause, kind: "out_of_memory", message: "", frames: [] }] },
		now,
	);
	assert.equal(found && titleOf(found), "Out of memory");
});

test("names a fault by the faulty part", () => {
	const [row] = groupIssues({ entries: [], causes: [cause] }, now);
	assert.ok(row, "no row");
	const title = (why: string) => titleOf({ ...row, kind: "faulty", why });
	assert.equal(title("The device's clock is more than a minute behind the gateway's."), "Wrong clock");
	assert.equal(title("No clock."), "Speaker fault");
	assert.equal(title("The touch pin reads high."), "Touch fault");
});

test("lists a failed schedule with name and reason until dismissed", () => {
	const rejection = {
		id: "0123456789abcdef",
		what: "schedule",
		deviceId: null,
		remoteAddress: "Pizza",
		reason: "The program that speaks failed.",
		count: 1,
		firstAt: at,
		lastAt: at,
		seen: false,
	} as const;
	const [found] = groupIssues({ entries: [], rejections: [rejection] }, now + 48 * 3_600_000);
	assert.deepEqual([found?.kind, found?.why], ["schedule_failed", rejection.reason]);
	assert.equal(found && detailOf(found), "Pizza · The program that speaks failed");
});

test("lists a paused rollout, not a running one", () => {
	const head = {
		pausedBecause: null,
		version: "1.4.0",
		standing: false,
		revision: 1,
		createdAt: at,
	} as const;
	const times = { startedAt: at, endedAt: null, counts: zeros(deviceStatuses) };
	const rollout = (id: string, status: "running" | "paused") => ({ ...head, ...times, id, status });
	const rollouts = [rollout("a", "running"), rollout("b", "paused")];
	const rows = groupIssues({ entries: [], rollouts }, now);
	const titles = rows.map((row) => [row.key, titleOf(row), row.seen]);
	assert.deepEqual(titles, [["rollout b", "Rollout of 1.4.0 paused", false]]);
});

test("counts a dismissed cause as dismissed", () => {
	const rows = groupIssues({ entries: [], causes: [{ ...cause, seen: true }] }, now);
	const seen = rows.map(({ seen }) => seen);
	assert.deepEqual(seen, [true]);
});

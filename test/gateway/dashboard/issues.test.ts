import assert from "node:assert/strict";
import { test } from "node:test";
import type { CrashCause } from "../../../gateway/api/crash-causes.js";
import { groupIssues } from "../../../gateway/dashboard/page/model/issues.js";

const at = "2026-11-21T12:00:00.000Z";
const moment = { version: "1.4.0", at };
const sample = (deviceId: string) => ({ deviceId, crashId: "1a", ...moment });
const cause: CrashCause = {
	id: "0f1e2d3c4b5a6978",
	kind: "exception",
	message: "TypeError: no face #",
	frames: ["onButton (device/rules.ts)"],
	count: 3,
	first: moment,
	last: moment,
	versions: [],
	deviceCount: 2,
	samples: [sample("dev-1-a1b2c3"), sample("dev-1-a1b2c4")],
	seen: false,
};
test("shows a new crash cause with its devices and mark", () => {
	const [found, ...others] = groupIssues([], [], { causes: [cause] }, Date.parse(at));
	assert.deepEqual(others, []);
	assert.deepEqual(
		[found?.kind, found?.why, found?.isHint],
		["crash_new", "TypeError: no face #, in onButton (device/rules.ts).", true],
	);
	assert.deepEqual(
		found?.issues.map(({ id, mark }) => [id, mark]),
		[
			["dev-1-a1b2c3", cause.id],
			["dev-1-a1b2c4", cause.id],
		],
	);
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
	const [found] = groupIssues([], [rejection], { causes: [] }, Date.parse(at) + 48 * 3_600_000);
	assert.deepEqual([found?.kind, found?.why, found?.isHint], ["schedule_failed", rejection.reason, false]);
});

test("does not list a dismissed cause again", () => {
	assert.deepEqual(groupIssues([], [], { causes: [{ ...cause, seen: true }] }, Date.parse(at)), []);
});

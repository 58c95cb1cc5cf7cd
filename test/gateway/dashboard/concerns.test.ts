import assert from "node:assert/strict";
import { test } from "node:test";
import type { CrashCause, CrashVersion } from "../../../gateway/api/crash-causes.js";
import { causesOf } from "../../../gateway/dashboard/page/model/concerns.js";

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
const version: CrashVersion = {
	version: "1.4.0",
	count: 30,
	connectedHours: 60,
	perHour: 0.5,
	deviceCount: 2,
	worseThan: { version: "1.3.2", atLeast: 9.39 },
	seen: false,
};

test("a version that crashes more often comes first, then new causes, each with its devices and its mark", () => {
	const found = causesOf([], [], { causes: [cause], versions: [version] }, Date.parse(at));
	assert.deepEqual(
		found.map(({ kind, why, isHint, concerns }) => [kind, why, isHint, concerns.map(({ mark }) => mark)]),
		[
			["crash_rate", "1.4.0 crashes at least 9.3 times as often as 1.3.2.", false, ["1.4.0", "1.4.0"]],
			["crash_new", "TypeError: no face #, in onButton (device/rules.ts).", true, [cause.id, cause.id]],
		],
	);
	assert.deepEqual(
		found[1]?.concerns.map(({ id }) => id),
		["dev-1-a1b2c3", "dev-1-a1b2c4"],
	);
});

test("a schedule that has failed stays until it was seen, under its name and with its reason", () => {
	const refusal = {
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
	const [found] = causesOf([], [refusal], { causes: [], versions: [] }, Date.parse(at) + 48 * 3_600_000);
	assert.deepEqual([found?.kind, found?.why, found?.isHint], ["schedule_failed", refusal.reason, false]);
});

test("what was seen of causes is not told again, and a version that is not worse never", () => {
	const versions = [{ ...version, worseThan: null }];
	assert.deepEqual(causesOf([], [], { causes: [{ ...cause, seen: true }], versions }, Date.parse(at)), []);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { StateReport } from "../../../device/protocol/messages.js";
import { sharedList } from "../../../gateway/sessions/device.js";
import { sampleReport } from "../../../scripts/api/sample-report.js";
import { makeDevice } from "../../support/record-stubs.js";

const startedAt = Date.parse("2026-11-20T12:00:00Z");

/** Time of a report, in ms after the first start, and its uptime, in seconds. */
interface Report {
	readonly at: number;
	readonly uptime: number;
	/** Whether the report is on the same connection as the previous one. */
	readonly isConnected?: boolean;
	/** Offset of the gateway's clock, in ms. */
	readonly setBy?: number;
}

/** Start times detected from these reports, in ms after the first start. */
function startsOf(reports: readonly Report[]): readonly number[] {
	const device = makeDevice("d", startedAt);
	const sample: StateReport = sampleReport("DEV-1");
	for (const { at, uptime, isConnected, setBy } of reports) {
		if (!isConnected) device.session = makeDevice("d", startedAt).session;
		const report = { ...sample, health: { ...sample.health, uptime_seconds: Math.floor(uptime) } };
		device.report(report, Buffer.from(JSON.stringify(report)), startedAt + (setBy ?? 0) + at, at);
	}
	return device.resets.map(({ at }) => at - startedAt);
}

test("detects a restart by a decreased uptime or one shorter than the absence, and by no delay or clock change", () => {
	const hour = 3_600_000;
	const known = { at: 60_000, uptime: 60 };
	const connected = [0.1, 1, 5].map((uptime) => ({ at: uptime * 1000, uptime, isConnected: uptime > 0.1 }));
	const cases: readonly (readonly [what: string, reports: readonly Report[], starts: readonly number[]])[] = [
		[
			"whole seconds",
			[0.1, 0.2, 0.9, 1.05, 4.99, 5.95, 30, 3600.99].map((uptime) => ({ at: uptime * 1000, uptime })),
			[100],
		],
		[
			"shortly after",
			[
				{ at: 3500, uptime: 3.5 },
				{ at: 3900, uptime: 0.2 },
			],
			[500, 3900],
		],
		[
			"failing right after each report",
			[0, 1, 2, 3].map((run) => ({ at: 2500 + run * 3000, uptime: 2.5 })),
			[500, 3500, 6500, 9500],
		],
		[
			"offline for longer than its uptime",
			[
				{ at: 5000, uptime: 5 },
				{ at: 600_000, uptime: 60 },
			],
			[0, 540_000],
		],
		["late while connected", [...connected, { at: 27_000, uptime: 15, isConnected: true }], [100]],
		["clock set while connected", [...connected, { at: 2 * hour, uptime: 20, isConnected: true }], [100]],
		["late", [known, { at: 80_000, uptime: 65 }], [0]],
	];
	for (const [what, reports, starts] of cases) assert.deepEqual(startsOf(reports), starts, what);
	for (const setBy of [hour, -hour]) {
		assert.deepEqual(startsOf([known, { at: 70_000, uptime: 70, setBy }]), [0]);
		assert.deepEqual(startsOf([known, { at: 70_000, uptime: 4, setBy }]), [0, 66_000 + setBy]);
		assert.deepEqual(startsOf([known, { at: 400_000, uptime: 100, setBy }]), [0, 300_000 + setBy]);
	}
});

test("keeps the last ten versions and restarts, with their times", () => {
	const device = makeDevice("d", startedAt);
	const sample: StateReport = sampleReport("DEV-1");
	for (let run = 0; run < 12; run += 1)
		for (const uptime of [5, 65]) {
			device.session = makeDevice("d", startedAt).session;
			const report = {
				...sample,
				system: { ...sample.system, firmware_version: `1.${run}.0` },
				health: { ...sample.health, uptime_seconds: uptime, reset_reason: `REASON_${run}` },
			};
			const at = run * 100_000 + uptime * 1000;
			device.report(report, Buffer.from(JSON.stringify(report)), startedAt + at, at);
		}
	const at = (run: number) => startedAt + run * 100_000;
	const runs = Array.from({ length: 10 }, (_, index) => index + 2);
	const resets = runs.map((run) => ({ reason: `REASON_${run}`, at: at(run) }));
	assert.deepEqual(device.resets, resets);
	const versions = runs.map((run) => ({ version: `1.${run}.0`, at: at(run) + 5000 }));
	assert.deepEqual(device.versions, versions);
});

test("shares one list between devices with the same features", () => {
	const list = sharedList(["identify", "crash"]);
	assert.equal(sharedList(["identify", "crash"]), list);
	assert.deepEqual(sharedList(["identify"]), ["identify"]);
	assert.deepEqual(list, ["identify", "crash"]);
});

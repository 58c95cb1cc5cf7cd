import assert from "node:assert/strict";
import { test } from "node:test";
import {
	asTargets,
	daysText,
	dueText,
	localTime,
	quietText,
	timeText,
	whenText,
} from "../../../../gateway/api/client/times.js";
import type { QuietHours } from "../../../../gateway/api/quiet-hours.js";
import type { Schedule } from "../../../../gateway/api/schedule.js";

const zone = "Europe/Berlin";
/** Thursday, 13:00 in that zone. */
const now = Date.parse("2026-11-26T12:00:00Z");
const inSeconds = (seconds: number) => new Date(now + seconds * 1000).toISOString();
const targets = { all: true };
const announcing = { announcement: { text: "We close", targets } };

function schedule(more: Partial<Schedule>): Schedule {
	return {
		...{ id: "a", at: { weekly: { time: "17:50" } }, do: announcing, on: true, zone, by: "monitor" },
		...{ createdAt: inSeconds(-1000), nextAt: null, last: null, ...more },
	};
}

test("names the days and time of a schedule", () => {
	const all = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
	for (const [days, text] of [
		[undefined, "Daily"],
		[all, "Daily"],
		[all.slice(0, 5), "Mon–Fri"],
		[["sat", "sun"], "Sat, Sun"],
		[["sun", "mon", "tue", "wed", "thu"], "Sun–Thu"],
		[["mon", "wed", "thu", "fri"], "Mon, Wed–Fri"],
		[["wed"], "Wed"],
	] as const)
		assert.equal(daysText(days), text);
	assert.equal(whenText({ weekly: { time: "17:50", days: ["mon", "tue", "wed"] } }), "Mon–Wed 17:50");
	assert.equal(whenText({ once: "2026-11-28T07:30" }), "Sat 28 Nov 07:30");
	assert.equal(whenText({ in: 720 }), "12-minute timer");
});

test("shows when a schedule is due, in its zone", () => {
	for (const [seconds, at, text] of [
		[720, undefined, "in 12 min"],
		[600, { in: 600 }, "10:00 left"],
		[89, { in: 600 }, "1:29 left"],
		[-3, undefined, "in 0 s"],
		[17_400, undefined, "next today"],
		[86_400, undefined, "next Fri 27 Nov"],
		[17_400, { in: 20_000 }, "at 17:50"],
		[86_400, { in: 90_000 }, "at Fri 27 Nov 13:00"],
		// Shown by its time.
		[86_400, { once: "2026-11-27T13:00" }, ""],
	] as const)
		assert.equal(dueText(schedule({ nextAt: inSeconds(seconds), ...(at && { at }) }), now), text);
	assert.equal(dueText(schedule({ on: false }), now), "Off");
	assert.equal(dueText(schedule({}), now), "Finished");
});

test("shows times and limits of quiet hours, which cover the targets of announcements", () => {
	const quiet: QuietHours = {
		...{ id: "", zone, by: null, changedAt: inSeconds(0), holdsUntil: null, targets },
		...{ from: "22:00", until: "07:00", on: true },
	};
	const urgent = quietText({ ...quiet, volume: 0, brightness: 0.1, onlyUrgent: true });
	assert.equal(urgent, "Daily 22:00–07:00 · At most 0, light at most 10 %, only urgent announcements");
	const saturday = { ...quiet, days: ["sat"], volume: 20, onlyUrgent: false } as const;
	assert.equal(quietText(saturday), "Sat 22:00–07:00 · At most 20");
	assert.deepEqual(asTargets({ device: "dev-1-a" }), { devices: ["dev-1-a"] });
	assert.deepEqual(asTargets({ room: "Hall" }), { room: "Hall" });
});

test("shows times in the zone, across the end of daylight saving time", () => {
	for (const time of ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"])
		assert.equal(localTime(Date.parse(time), zone), "2026-10-25T02:30");
	assert.equal(timeText("2026-11-26T22:59:00Z", now, zone), "23:59");
	assert.equal(timeText("2026-11-26T23:00:00Z", now, zone), "Fri 27 Nov 00:00");
	assert.equal(timeText("2026-11-26T23:00:00Z", now, "UTC"), "23:00");
});

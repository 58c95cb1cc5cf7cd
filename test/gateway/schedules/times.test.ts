/** Due times and quiet periods with and without clock changes. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { nextTime, periodsOf } from "../../../gateway/schedules/times.js";

const berlin = "Europe/Berlin";
const newYork = "America/New_York";
type At = Parameters<typeof nextTime>[0];

/** Next due times, in UTC. */
function dueTimes(at: At, zone: string, after: string, count = 3): readonly (string | undefined)[] {
	const found: (string | undefined)[] = [];
	let time: number | undefined = Date.parse(after);
	while (time !== undefined && found.length < count) {
		const next = nextTime(at, zone, time);
		time = next === null ? undefined : Date.parse(next);
		found.push(next?.slice(0, 16));
	}
	return found;
}

function periods(hours: object, zone: string, after: string, before: string): readonly string[] {
	const asked = { from: "22:00", until: "07:00", zone, ...hours };
	return periodsOf(asked, Date.parse(after), Date.parse(before)).map(({ from, until }) =>
		[from, until].map((time) => new Date(time).toISOString().slice(0, 16)).join(" "),
	);
}

describe("time of day", () => {
	test("keeps its local time across clock changes", () => {
		const at = { weekly: { time: "17:50", days: ["fri", "sat", "sun", "mon"] } } as const;
		const inSpring = dueTimes(at, berlin, "2026-03-27T00:00Z", 4);
		assert.deepEqual(inSpring, [
			"2026-03-27T16:50",
			"2026-03-28T16:50",
			"2026-03-29T15:50",
			"2026-03-30T15:50",
		]);
		const inAutumn = dueTimes({ weekly: { time: "17:50" } }, newYork, "2026-10-31T00:00Z");
		assert.deepEqual(inAutumn, ["2026-10-31T21:50", "2026-11-01T22:50", "2026-11-02T22:50"]);
	});

	test("occurs once after the gap if it does not exist", () => {
		const at = { weekly: { time: "02:30" } };
		assert.deepEqual(dueTimes(at, berlin, "2026-03-28T00:00Z"), [
			"2026-03-28T01:30",
			"2026-03-29T01:00",
			"2026-03-30T00:30",
		]);
		assert.deepEqual(dueTimes(at, newYork, "2026-03-07T00:00Z"), [
			"2026-03-07T07:30",
			"2026-03-08T07:00",
			"2026-03-09T06:30",
		]);
	});

	test("uses the first occurrence if it occurs twice", () => {
		assert.deepEqual(dueTimes({ weekly: { time: "02:30" } }, berlin, "2026-10-24T00:00Z"), [
			"2026-10-24T00:30",
			"2026-10-25T00:30",
			"2026-10-26T01:30",
		]);
		assert.deepEqual(dueTimes({ weekly: { time: "01:30" } }, newYork, "2026-10-31T00:00Z"), [
			"2026-10-31T05:30",
			"2026-11-01T05:30",
			"2026-11-02T06:30",
		]);
	});

	test("is due only on its days", () => {
		const at = { weekly: { time: "00:00", days: ["sun"] } } as const;
		assert.deepEqual(dueTimes(at, "UTC", "2026-11-26T20:00Z", 2), ["2026-11-29T00:00", "2026-12-06T00:00"]);
	});
});

describe("local time", () => {
	test("is due once, and never if past or not in the calendar", () => {
		assert.deepEqual(dueTimes({ once: "2026-11-28T07:30" }, berlin, "2026-11-26T20:00Z"), [
			"2026-11-28T06:30",
			undefined,
		]);
		assert.deepEqual(dueTimes({ once: "2026-11-26T07:30" }, berlin, "2026-11-26T20:00Z"), [undefined]);
		assert.deepEqual(dueTimes({ once: "2027-02-29T07:30" }, berlin, "2026-11-26T20:00Z"), [undefined]);
		assert.deepEqual(dueTimes({ once: "2028-02-29T07:30" }, berlin, "2026-11-26T20:00Z", 1), [
			"2028-02-29T06:30",
		]);
	});

	test("uses the first occurrence, or the time after the gap", () => {
		assert.deepEqual(dueTimes({ once: "2026-10-25T02:30" }, berlin, "2026-10-01T00:00Z"), [
			"2026-10-25T00:30",
			undefined,
		]);
		assert.deepEqual(dueTimes({ once: "2026-03-08T02:30" }, newYork, "2026-03-01T00:00Z"), [
			"2026-03-08T07:00",
			undefined,
		]);
	});
});

test("rejects an unknown time zone", () => {
	assert.throws(() => nextTime({ weekly: { time: "07:00" } }, "No/Where", 0), /No\/Where/);
});

describe("quiet hours", () => {
	test("span midnight, an hour shorter or longer when clocks change", () => {
		assert.deepEqual(periods({}, berlin, "2026-03-28T12:00Z", "2026-03-30T12:00Z"), [
			"2026-03-28T21:00 2026-03-29T05:00",
			"2026-03-29T20:00 2026-03-30T05:00",
		]);
		assert.deepEqual(periods({}, newYork, "2026-10-31T12:00Z", "2026-11-02T12:00Z"), [
			"2026-11-01T02:00 2026-11-01T12:00",
			"2026-11-02T03:00 2026-11-02T12:00",
		]);
	});

	test("start or end after the gap; are omitted if both fall into it", () => {
		const day = ["2026-03-28T23:00Z", "2026-03-29T22:00Z"] as const;
		assert.deepEqual(periods({ from: "02:30", until: "04:00" }, berlin, ...day), [
			"2026-03-29T01:00 2026-03-29T02:00",
		]);
		assert.deepEqual(periods({ from: "01:00", until: "02:30" }, berlin, ...day), [
			"2026-03-29T00:00 2026-03-29T01:00",
		]);
		assert.deepEqual(periods({ from: "02:15", until: "02:45" }, berlin, ...day), []);
	});

	test("start and end at the first of two occurrences", () => {
		const day = ["2026-10-24T22:00Z", "2026-10-25T22:00Z"] as const;
		assert.deepEqual(periods({ from: "02:30", until: "04:00" }, berlin, ...day), [
			"2026-10-25T00:30 2026-10-25T03:00",
		]);
		assert.deepEqual(periods({ from: "01:00", until: "02:30" }, berlin, ...day), [
			"2026-10-24T23:00 2026-10-25T00:30",
		]);
	});

	test("include the current period, and start only on their days", () => {
		const hours = { from: "22:00", until: "22:00", days: ["sat", "sun"] };
		assert.deepEqual(periods(hours, "UTC", "2026-11-28T21:00Z", "2026-12-05T22:00Z"), [
			"2026-11-28T22:00 2026-11-29T22:00",
			"2026-11-29T22:00 2026-11-30T22:00",
		]);
		assert.deepEqual(periods(hours, "UTC", "2026-11-29T12:00Z", "2026-11-29T13:00Z"), [
			"2026-11-28T22:00 2026-11-29T22:00",
		]);
	});

	test("do not overlap, and are at most 16 in two weeks", () => {
		const clock = (minutes: number) =>
			[Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, "0")).join(":");
		for (const [zone, month] of [
			[berlin, "2026-03-20"],
			[berlin, "2026-10-16"],
			[newYork, "2026-03-01"],
			[newYork, "2026-10-25"],
			["Australia/Lord_Howe", "2026-03-28"],
			["Africa/Cairo", "2026-04-18"],
		] as const)
			for (let from = 0; from < 1440; from += 95)
				for (let until = 0; until < 1440; until += 95) {
					const after = Date.parse(`${month}T00:00Z`);
					const hours = { from: clock(from), until: clock(until), zone };
					const found = periodsOf(hours, after, after + 14 * 86_400_000);
					assert.ok(found.length <= 16 && found.length >= 13, `${found.length}`);
					for (const [index, period] of found.entries()) {
						assert.ok(period.from < period.until, `from ${period.from} to ${period.until}`);
						const { until: previous = 0 } = found[index - 1] ?? {};
						assert.ok(previous <= period.from, `${zone} ${clock(from)} ${clock(until)}`);
					}
				}
	});
});

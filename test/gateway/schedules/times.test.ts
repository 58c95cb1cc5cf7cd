/** Due times and quiet periods with and without clock changes. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { nextTime, periodsOf } from "../../../gateway/schedules/times.js";
import { runs } from "../../support/property-runs.js";

const berlin = "Europe/Berlin";
const newYork = "America/New_York";
const noon = "2026-11-27T12:00Z";
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

const minuteMs = 60_000;
const dayMs = 1440 * minuteMs;
const weekMs = 7 * dayMs;

const utc = (time: number) => new Date(time).toISOString().slice(0, 16);
const clock = (minute: number) => utc(minute * minuteMs).slice(-5);

/** Weeks of a year whose clocks change in them. */
function changingWeeks(zone: string, year: number): readonly number[] {
	const format = new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" });
	const offsetAt = (time: number) => format.format(time).split(", ")[1];
	const starts = Array.from({ length: 52 }, (_, week) => Date.UTC(year) + week * weekMs);
	return starts.filter((start) => offsetAt(start) !== offsetAt(start + weekMs));
}

const zones = Intl.supportedValuesOf("timeZone");
const anyZone = fc.constantFrom(...zones);
const changingWeek = fc
	.tuple(
		fc.constantFrom(...zones.filter((zone) => changingWeeks(zone, 2026).length > 0)),
		fc.integer({ min: 2024, max: 2037 }),
		fc.nat(1),
	)
	.map(([zone, year, which]) => ({ zone, start: changingWeeks(zone, year)[which] ?? Date.UTC(year) }));

/**
 * Returns for each local minute of about nine days the first moment at which clocks show it or a later one.
 * Local minutes are in milliseconds since 1970.
 */
function firstMoments(zone: string, start: number): ReadonlyMap<number, number> {
	const format = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "short" });
	const localAt = (time: number) => Date.parse(`${format.format(time)}Z`);
	const moments = new Map<number, number>();
	let latest = localAt(start);
	for (let time = start + minuteMs; time < start + weekMs + 2 * dayMs; time += minuteMs)
		for (const local = localAt(time); latest < local; moments.set(latest, time)) latest += minuteMs;
	return moments;
}

/** Returns the moments of a time of day on seven days. @param minute since midnight, also of the next day */
function onEachDay(moments: ReadonlyMap<number, number>, minute: number): readonly number[] {
	const [first = 0] = moments.keys();
	const midnight = Math.ceil(first / dayMs) * dayMs;
	return Array.from({ length: 7 }, (_, day) => moments.get(midnight + day * dayMs + minute * minuteMs) ?? 0);
}

describe("due time", () => {
	for (const [what, at, zone, after, ...due] of [
		[
			"keeps its local time across clock changes, only on its days",
			{ weekly: { time: "17:50", days: ["fri", "sun", "mon"] } },
			berlin,
			"2026-03-27T00:00Z",
			"2026-03-27T16:50",
			"2026-03-29T15:50",
			"2026-03-30T15:50",
		],
		[
			"is once after the gap if it does not exist",
			{ weekly: { time: "02:30" } },
			newYork,
			"2026-03-07T00:00Z",
			"2026-03-07T07:30",
			"2026-03-08T07:00",
			"2026-03-09T06:30",
		],
		[
			"is on a Saturday whose last hour does not exist",
			{ weekly: { time: "23:30", days: ["sat"] } },
			"America/Nuuk",
			"2026-03-28T12:00Z",
			"2026-03-29T01:00",
		],
		[
			"is the first occurrence of a time that occurs twice",
			{ weekly: { time: "02:30" } },
			berlin,
			"2026-10-24T00:00Z",
			"2026-10-24T00:30",
			"2026-10-25T00:30",
			"2026-10-26T01:30",
		],
		["is once at a local time", { once: "2026-11-28T07:30" }, berlin, noon, "2026-11-28T06:30", undefined],
		["is never in the past", { once: "2026-11-26T07:30" }, berlin, noon, undefined],
		["is never on a day that is not in the calendar", { once: "2027-02-29T07:30" }, berlin, noon, undefined],
		["is on a leap day", { once: "2028-02-29T07:30" }, berlin, noon, "2028-02-29T06:30"],
	] as const)
		test(what, () => assert.deepEqual(dueTimes(at, zone, after, due.length), due));

	test("is rejected in an unknown time zone", () => {
		assert.throws(() => nextTime({ weekly: { time: "07:00" } }, "No/Where", 0), /No\/Where/);
	});
});

describe("quiet hours", () => {
	const spring = ["2026-03-28T23:00Z", "2026-03-29T22:00Z"] as const;
	const autumn = ["2026-10-24T22:00Z", "2026-10-25T22:00Z"] as const;
	for (const [what, hours, zone, [after, before], ...expected] of [
		[
			"span midnight, an hour longer when clocks change",
			{},
			newYork,
			["2026-10-31T12:00Z", "2026-11-02T12:00Z"],
			"2026-11-01T02:00 2026-11-01T12:00",
			"2026-11-02T03:00 2026-11-02T12:00",
		],
		[
			"start after the gap",
			{ from: "02:30", until: "04:00" },
			berlin,
			spring,
			"2026-03-29T01:00 2026-03-29T02:00",
		],
		[
			"end after the gap",
			{ from: "01:00", until: "02:30" },
			berlin,
			spring,
			"2026-03-29T00:00 2026-03-29T01:00",
		],
		["are omitted within the gap", { from: "02:15", until: "02:45" }, berlin, spring],
		[
			"that pause within the gap are in force all day",
			{ from: "02:45", until: "02:15" },
			berlin,
			["2026-03-28T12:00Z", "2026-03-30T00:30Z"],
			"2026-03-28T01:45 2026-03-29T01:00",
			"2026-03-29T01:00 2026-03-30T00:15",
		],
		[
			"start at the first of two times",
			{ from: "02:30", until: "04:00" },
			berlin,
			autumn,
			"2026-10-25T00:30 2026-10-25T03:00",
		],
		[
			"end at the first of two times",
			{ from: "01:00", until: "02:30" },
			berlin,
			autumn,
			"2026-10-24T23:00 2026-10-25T00:30",
		],
		[
			"start only on their days, including the current one",
			{ until: "22:00", days: ["sat", "sun"] },
			"UTC",
			["2026-11-29T12:00Z", "2026-12-05T22:00Z"],
			"2026-11-28T22:00 2026-11-29T22:00",
			"2026-11-29T22:00 2026-11-30T22:00",
		],
	] as const)
		test(what, () => assert.deepEqual(periods(hours, zone, after, before), expected));

	test("do not overlap, and are at most 16 in two weeks", () => {
		const start = fc.integer({ min: Date.UTC(2026), max: Date.UTC(2027) });
		const timeOfDay = fc.nat(1439).map(clock);
		fc.assert(
			fc.property(anyZone, timeOfDay, timeOfDay, start, (zone, from, until, after) => {
				const found = periodsOf({ from, until, zone }, after, after + 14 * dayMs);
				assert.ok(found.length <= 16 && found.length >= 13, `${found.length}`);
				for (const [index, period] of found.entries()) {
					assert.ok(period.from < period.until, `from ${period.from} to ${period.until}`);
					const { until: previous = 0 } = found[index - 1] ?? {};
					assert.ok(previous <= period.from, `${previous} ${period.from}`);
				}
			}),
			{ numRuns: runs(2_000) },
		);
	});
});

describe("in a week with a clock change", () => {
	test("a daily time is due once a day, when clocks first show it or have skipped it", () => {
		fc.assert(
			fc.property(changingWeek, fc.nat(59), ({ zone, start }, offset) => {
				const moments = firstMoments(zone, start);
				for (let minute = offset; minute < 1440; minute += 60) {
					const expected = onEachDay(moments, minute);
					const after = `${utc((expected[0] ?? 0) - minuteMs)}Z`;
					const found = dueTimes({ weekly: { time: clock(minute) } }, zone, after, expected.length);
					assert.deepEqual(found, expected.map(utc), clock(minute));
				}
			}),
			{ numRuns: runs(200) },
		);
	});

	test("quiet hours last from one such moment to the next", () => {
		fc.assert(
			fc.property(
				changingWeek,
				fc.nat(59),
				fc.integer({ min: 1, max: 1440 }),
				({ zone, start }, offset, length) => {
					const moments = firstMoments(zone, start);
					for (let minute = offset; minute < 1440; minute += 60) {
						const begins = onEachDay(moments, minute);
						const ends = onEachDay(moments, minute + length);
						const expected = begins
							.map((from, index) => ({ from, until: ends[index] ?? 0 }))
							.filter(({ from, until }) => from < until);
						const hours = { from: clock(minute), until: clock((minute + length) % 1440), zone };
						const [first = 0, last = 0] = [begins[0], begins.at(-1)];
						const found = periodsOf(hours, first, last + 1).filter(({ from }) => from >= first);
						assert.deepEqual(found, expected, `${hours.from} to ${hours.until}`);
					}
				},
			),
			{ numRuns: runs(200) },
		);
	});
});

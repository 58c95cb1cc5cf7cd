/** Due times and quiet periods with and without clock changes. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { nextTime, periodsOf } from "../../../gateway/api/local-times.js";
import { runs } from "../../support/property-runs.js";

const berlin = "Europe/Berlin";
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
	for (const { what, at, zone = berlin, after = noon, due } of [
		{
			what: "keeps its local time across clock changes, only on its days",
			at: { weekly: { time: "17:50", days: ["fri", "sun", "mon"] } },
			after: "2026-03-27T00:00Z",
			due: ["2026-03-27T16:50", "2026-03-29T15:50", "2026-03-30T15:50"],
		},
		{
			what: "is on a Saturday whose last hour does not exist",
			at: { weekly: { time: "23:30", days: ["sat"] } },
			zone: "America/Nuuk",
			after: "2026-03-28T12:00Z",
			due: ["2026-03-29T01:00"],
		},
		{
			what: "is once at a local time",
			at: { once: "2026-11-28T07:30" },
			due: ["2026-11-28T06:30", undefined],
		},
		{ what: "is never in the past", at: { once: "2026-11-26T07:30" }, due: [undefined] },
		{ what: "is never on a day not in the calendar", at: { once: "2027-02-29T07:30" }, due: [undefined] },
		{ what: "is on a leap day", at: { once: "2028-02-29T07:30" }, due: ["2028-02-29T06:30"] },
	] as const)
		test(what, () => assert.deepEqual(dueTimes(at, zone, after, due.length), due));

	test("is rejected in an unknown time zone", () => {
		assert.throws(() => nextTime({ weekly: { time: "07:00" } }, "No/Where", 0), /No\/Where/);
	});
});

describe("quiet hours", () => {
	test("start only on their days, including the current one", () => {
		const hours = { from: "22:00", until: "22:00", days: ["sat", "sun"] } as const;
		const found = periodsOf(hours, "UTC", Date.parse("2026-11-29T12:00Z"), Date.parse("2026-12-05T22:00Z"));
		const shown = found.map(({ from, until }) => `${utc(from)} ${utc(until)}`);
		assert.deepEqual(shown, ["2026-11-28T22:00 2026-11-29T22:00", "2026-11-29T22:00 2026-11-30T22:00"]);
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
						const hours = { from: clock(minute), until: clock((minute + length) % 1440) };
						const [first = 0, last = 0] = [begins[0], begins.at(-1)];
						const found = periodsOf(hours, zone, first, last + 1).filter(({ from }) => from >= first);
						assert.deepEqual(found, expected, `${hours.from} to ${hours.until}`);
					}
				},
			),
			{ numRuns: runs(200) },
		);
	});
});

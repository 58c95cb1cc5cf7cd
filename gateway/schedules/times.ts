/**
 * Due times and quiet periods in a time zone, computed with croner: an ambiguous local time is its first
 * occurrence, and a nonexistent one is the first time after the gap.
 */

import { Cron } from "croner";
import type { QuietHoursRequest } from "../api/quiet-hours.js";
import type { ScheduleRequest } from "../api/schedule.js";

/** Maximum length of a period: a day of 25 hours. */
const longestPeriodMs = 25 * 3_600_000;

/**
 * Returns croner's pattern for a time of day.
 * @param days undefined: every day
 */
function daily(time: string, days?: QuietHoursRequest["days"]): string {
	const [hour, minute] = time.split(":");
	return `0 ${minute} ${hour} * * ${days?.join(",") ?? "*"}`;
}

/** @returns undefined for a delay */
function patternOf({ weekly, once }: ScheduleRequest["at"]): string | undefined {
	if (weekly) return daily(weekly.time, weekly.days);
	const [, year, month, day, hour, minute] = /^(\d+)-(\d+)-(\d+)T(\d+):(\d+)$/.exec(once ?? "") ?? [];
	return year && `0 ${minute} ${hour} ${day} ${month} * ${year}`;
}

/**
 * @param zone IANA name
 * @param after milliseconds since 1970
 * @returns next due time in UTC; null: none
 * @throws {Error} if this computer does not know the zone
 */
export function nextTime(at: ScheduleRequest["at"], zone: string, after: number): string | null {
	const pattern = patternOf(at);
	if (pattern === undefined) return null;
	return new Cron(pattern, { timezone: zone }).nextRun(new Date(after))?.toISOString() ?? null;
}

/** Period in milliseconds since 1970. */
export interface Period {
	readonly from: number;
	readonly until: number;
}

/**
 * Returns the periods of quiet hours that end after a time and begin before another one, ordered and
 * disjoint.
 * @param after in milliseconds since 1970, like `before`
 * @throws {Error} if this computer does not know the zone
 */
export function periodsOf(
	{ from, until, days, zone }: Pick<QuietHoursRequest, "from" | "until" | "days"> & { readonly zone: string },
	after: number,
	before: number,
): readonly Period[] {
	const begins = new Cron(daily(from, days), { timezone: zone });
	const ends = new Cron(daily(until), { timezone: zone });
	const periods: Period[] = [];
	let begin = begins.nextRun(new Date(after - longestPeriodMs));
	for (; begin && begin.getTime() < before; begin = begins.nextRun(begin)) {
		const at = begin.getTime();
		// Both may be in a gap, which makes the period empty.
		const end = ends.nextRun(from === until ? begin : new Date(at - 1))?.getTime() ?? at;
		if (end > at && end > after) periods.push({ from: at, until: end });
	}
	return periods;
}

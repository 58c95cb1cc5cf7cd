/**
 * Due times and daily periods in a time zone. A local time means the first moment at which the zone's clocks show
 * it or a later one: the first occurrence of an ambiguous time, and the end of the gap for a nonexistent one.
 */

import type { QuietHoursRequest } from "./quiet-hours.js";
import type { ScheduleRequest } from "./schedule.js";
import { days } from "./times.js";

const dayMs = 86_400_000;

/** Clocks of a time zone. Local times are milliseconds since 1970 on them, as if they showed UTC. */
interface Clocks {
	/** @param time milliseconds since 1970 @returns local time, in whole seconds */
	localAt(time: number): number;
	/** @returns first moment at which the clocks show this local time or a later one, in milliseconds since 1970 */
	momentOf(local: number): number;
}

/** @throws {RangeError} if this computer does not know the zone */
function clocksOf(zone: string): Clocks {
	const format = new Intl.DateTimeFormat("sv-SE", {
		timeZone: zone,
		dateStyle: "short",
		timeStyle: "medium",
	});
	const localAt = (time: number) => Date.parse(`${format.format(time).replace(" ", "T")}Z`);
	const momentOf = (local: number) => {
		// No zone is more than 14 hours away from UTC, or changes its clocks twice within two days.
		const [first = 0, second = 0] = [local - dayMs, local + dayMs].map(
			(time) => local - localAt(time) + time,
		);
		if (localAt(first) === local) return first;
		if (localAt(second) === local) return second;
		// The gap ends between them.
		let [before, end] = [second, first];
		while (end - before > 1000) {
			const middle = before + Math.floor((end - before) / 2000) * 1000;
			if (localAt(middle) < local) before = middle;
			else end = middle;
		}
		return end;
	};
	return { localAt, momentOf };
}

/** Returns the local midnights of some days from a local time on; none if it is NaN. @param named undefined: every day */
function* midnights(local: number, named: readonly string[] = days): Generator<number> {
	for (let midnight = Math.floor(local / dayMs) * dayMs; Number.isFinite(midnight); midnight += dayMs) {
		// The first day of `days` is a Monday, and 1970 began on a Thursday.
		if (named.includes(days.at((midnight / dayMs + 3) % days.length) ?? "")) yield midnight;
	}
}

/** @param time time of day, such as "22:00" */
function sinceMidnight(time: string): number {
	return Date.parse(`1970-01-01T${time}Z`);
}

/**
 * @param zone IANA name
 * @param after milliseconds since 1970
 * @returns next due time in UTC; null: none
 * @throws {RangeError} if this computer does not know the zone
 */
export function nextTime(
	{ weekly, once }: ScheduleRequest["at"],
	zone: string,
	after: number,
): string | null {
	const { localAt, momentOf } = clocksOf(zone);
	const due = (local: number) => {
		const moment = momentOf(local);
		return moment > after ? new Date(moment).toISOString() : null;
	};
	if (once !== undefined) {
		const local = Date.parse(`${once}Z`);
		// A day that is not in the calendar becomes another one.
		return new Date(local).toISOString().startsWith(once) ? due(local) : null;
	}
	if (!weekly) return null;
	for (const midnight of midnights(localAt(after), weekly.days)) {
		const time = due(midnight + sinceMidnight(weekly.time));
		if (time !== null) return time;
	}
	return null;
}

/** Period in milliseconds since 1970. */
export interface Period {
	readonly from: number;
	readonly until: number;
}

/**
 * Returns the daily periods, such as quiet hours, that end after a time and begin before another one, ordered and
 * disjoint.
 * @param after in milliseconds since 1970, like `before`
 * @throws {RangeError} if this computer does not know the zone
 */
export function periodsOf(
	{ from, until, days }: Pick<QuietHoursRequest, "from" | "until" | "days">,
	zone: string,
	after: number,
	before: number,
): readonly Period[] {
	const { localAt, momentOf } = clocksOf(zone);
	const [begin, end] = [sinceMidnight(from), sinceMidnight(until)];
	const periods: Period[] = [];
	for (const midnight of midnights(localAt(after) - dayMs, days)) {
		const period = {
			from: momentOf(midnight + begin),
			until: momentOf(midnight + end + (end > begin ? 0 : dayMs)),
		};
		// False at times without a local time, too, such as in the year 10000.
		if (!(period.from < before)) break;
		// A period within a gap is empty.
		if (period.until > Math.max(period.from, after)) periods.push(period);
	}
	return periods;
}

/** Time window for starting updates: a time of day on some days, in a time zone. */

import type { Window } from "../api/rollout.js";
import { days } from "../api/times.js";

const minutesOf = (clock: string) => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));

/** @param wall milliseconds since 1970 */
export function isInWindow({ days: named, from, to, timeZone }: Window, wall: number): boolean {
	const options = {
		timeZone,
		weekday: "short",
		hour: "2-digit",
		minute: "2-digit",
		hourCycle: "h23",
	} as const;
	const parts = new Intl.DateTimeFormat("en-GB", options).formatToParts(wall);
	const part = (type: string) => parts.find((candidate) => candidate.type === type)?.value ?? "";
	const names: readonly string[] = days;
	const today = names.indexOf(part("weekday").toLowerCase());
	const isOn = (day: number) => named.some((name) => name === days[(day + days.length) % days.length]);
	const minute = minutesOf(`${part("hour")}:${part("minute")}`);
	const [begin, end] = [minutesOf(from), minutesOf(to)];
	if (begin < end) return isOn(today) && minute >= begin && minute < end;
	return (isOn(today) && minute >= begin) || (isOn(today - 1) && minute < end);
}

/** Display texts of schedules and quiet hours: time, action, targets and last run. */

import { titleOf } from "../commands.js";
import type { QuietHours, QuietHoursRequest } from "../quiet-hours.js";
import type { LastRun, Schedule } from "../schedule.js";
import type { Targets } from "../targets.js";
import { weekdays } from "./rollout-plan.js";
import { capital, clock, countdown, dayText, duration, plural } from "./words.js";

/** Defaults of new quiet hours. */
export const usualQuietHours = Object.freeze({ from: "22:00", until: "07:00", volume: 20, brightness: 0.1 });

/** "Daily", "Mon–Fri", "Sun–Thu", "Sat, Sun" @param days at least one */
export function daysText(days: readonly string[] = weekdays): string {
	if (days.length === weekdays.length) return "Daily";
	const isFirst = (day: string, at: number) =>
		days.includes(day) && !days.includes(weekdays.at(at - 1) ?? "");
	const first = weekdays.findIndex(isFirst);
	const runs: string[][] = [[]];
	for (const day of [...weekdays.slice(first), ...weekdays.slice(0, first)]) {
		if (days.includes(day)) runs.at(-1)?.push(capital(day));
		else runs.push([]);
	}
	return runs.flatMap((run) => (run.length > 2 ? `${run[0]}–${run.at(-1)}` : run)).join(", ");
}

/** "Mon–Fri 17:50", "Sat 28 Nov 07:30", "12-minute timer" */
export function whenText({ weekly, once, in: seconds = 0 }: Schedule["at"]): string {
	if (weekly) return `${daysText(weekly.days)} ${wallTime(weekly.time)}`;
	return once
		? `${dayText(`${once}Z`, "UTC")} ${wallTime(once.slice(11))}`
		: `${duration(seconds).replace(/^(\d+) min$/, "$1-minute")} timer`;
}

/** "5:42 left", "in 12 min", "next Sat 28 Nov", "at 17:50"; empty: `whenText` says it. @param now in milliseconds */
export function dueText({ at, on, nextAt, zone }: Schedule, now: number): string {
	if (!on) return "Off";
	if (nextAt === null) return "Finished";
	const seconds = Math.max(0, Math.round((Date.parse(nextAt) - now) / 1000));
	if (seconds < 90 * 60) {
		if (at.in !== undefined) return `${countdown(seconds)} left`;
		return seconds < 90 ? `in ${seconds} s` : `in ${Math.round(seconds / 60)} min`;
	}
	const day = dayText(nextAt, zone);
	if (at.weekly) return `next ${day === dayText(now, zone) ? "today" : day}`;
	return at.once ? "" : `at ${timeText(nextAt, now, zone)}`;
}

/** "Played at 17:50", "Missed at 17:50. The gateway was not running." */
export function lastText(schedule: Schedule, { outcome, at, dueAt, reason }: LastRun, now: number): string {
	const verb = schedule.do.command ? "Done" : "Played";
	const words = { done: verb, late: `${verb} late`, missed: "Missed", failed: "Failed" }[outcome];
	const time = outcome === "done" || outcome === "late" ? at : dueAt;
	return `${words} at ${timeText(time, now, schedule.zone)}${reason === null ? "" : `. ${reason}`}`;
}

/** Returns the action: "“Dinner is ready”", "Volume 40". @param soundName returns the name of a stored sound */
export function actionText(action: Schedule["do"], soundName: (id: string) => string | undefined): string {
	const { announcement, command } = action;
	if (command) return titleOf(command.payload);
	const { text, sound = "", url } = announcement ?? {};
	return text === undefined ? (url ?? soundName(sound) ?? "A sound that is gone") : `“${text}”`;
}

/** "All devices", "Kitchen", "Devices with shop and not beta", "3 devices" */
export function placeText(targets: Targets, nameOf: (deviceId: string) => string): string {
	const { all, room, tags, devices = [] } = targets;
	const [only] = devices;
	if (all) return "All devices";
	if (tags !== undefined) return `Devices with ${tags}`;
	return (
		room ?? (devices.length === 1 && only !== undefined ? nameOf(only) : plural(devices.length, "device"))
	);
}

/** Converts targets of quiet hours to those of announcements. */
export function asTargets({ device, ...others }: QuietHours["targets"]): Targets {
	return device === undefined ? others : { devices: [device] };
}

/** "Mon–Fri 22:00–07:00 · At most 20, only urgent announcements" */
export function quietText(hours: QuietHoursRequest): string {
	const { from, until, days, volume, brightness, onlyUrgent } = hours;
	const limits = [
		volume !== undefined && `at most ${volume}`,
		brightness !== undefined && `light at most ${Math.round(brightness * 100)} %`,
		onlyUrgent && "only urgent announcements",
	];
	return `${daysText(days)} ${wallTime(from)}–${wallTime(until)} · ${capital(limits.filter(Boolean).join(", "))}`;
}

/** "17:50" on the same day, else "Sat 28 Nov 17:50". @param now in milliseconds @param zone IANA name */
export function timeText(time: string, now: number, zone: string): string {
	const [day, text] = [dayText(time, zone), clock(Date.parse(time) / 1000, zone)];
	return day === dayText(now, zone) ? text : `${day} ${text}`;
}

/** "2026-11-28T07:30", as a field for a local time has it. @param time in milliseconds @param zone IANA name */
export function localTime(time: number, zone: string): string {
	return new Date(time)
		.toLocaleString("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "short" })
		.replace(" ", "T");
}

/** Format of a time such as "17:50". */
function wallTime(time: string): string {
	return clock(Date.parse(`1970-01-01T${time}Z`) / 1000, "UTC");
}

/** Empty where this computer has that time zone. */
export function zoneText(zone: string): string {
	const isOwn = zone === new Intl.DateTimeFormat().resolvedOptions().timeZone;
	return isOwn ? "" : `Times are those of ${zone}, the gateway's time zone.`;
}

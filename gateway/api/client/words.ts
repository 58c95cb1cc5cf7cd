/** Numbers, times and names as people read them: the same words in every view. */

import { entryOf } from "../../../device/protocol/schema.js";
import { isActiveUpdate, updateWords } from "../statuses.js";
import type { OtaMetadata } from "../update.js";

/** "3 s", "12 min", "2 h 5 min", "3 d 4 h" */
export function duration(seconds: number): string {
	const whole = Math.max(0, Math.round(seconds));
	if (whole < 60) return `${whole} s`;
	if (whole < 3600) return `${Math.floor(whole / 60)} min`;
	if (whole < 86_400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
	return `${Math.floor(whole / 86_400)} d ${Math.floor((whole % 86_400) / 3600)} h`;
}

/** "40 s", "2 min 40 s", "1 h 5 min" */
export function timeLeft(seconds: number): string {
	const rest = seconds % 60;
	const isExact = seconds < 60 || seconds >= 3600 || rest === 0;
	return isExact ? duration(seconds) : `${duration(seconds - rest)} ${duration(rest)}`;
}

/** "5:42" */
export function countdown(seconds: number): string {
	return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}

/** "just now", "12 s ago" */
export function age(milliseconds: number): string {
	const seconds = Math.floor(milliseconds / 1000);
	return seconds < 2 ? "just now" : `${duration(seconds)} ago`;
}

/** "512 B", "183 KB", "1.2 MB", in steps of 1024 */
export function bytes(count: number): string {
	if (count < 1024) return `${count} B`;
	if (count < 1024 * 1024) return `${Math.round(count / 1024)} KB`;
	return `${(count / 1024 / 1024).toFixed(1)} MB`;
}

/** "1 device", "1,204 devices" */
export function plural(count: number, noun: string): string {
	return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

const maxNamed = 10;

/** "there are Hall, Kitchen and 12 more", "there is no room" */
export function listNames(noun: string, names: readonly string[]): string {
	if (names.length === 0) return `there is no ${noun}`;
	const more = names.length - maxNamed;
	const shown = names.slice(0, maxNamed).join(", ");
	return `there ${names.length === 1 ? "is" : "are"} ${shown}${more > 0 ? ` and ${more.toLocaleString("en")} more` : ""}`;
}

/** @param dBm -50 is strong, -85 weak @returns signal strength as 1 to 4 bars */
export function signalBars(dBm: number): number {
	if (dBm >= -55) return 4;
	if (dBm >= -67) return 3;
	if (dBm >= -78) return 2;
	return 1;
}

/** "downloading 43 %", "updated to 1.4.0", "update failed" */
export function otaText({ otaStatus, otaPercent, otaVersion }: OtaMetadata): string {
	const words = updateWords[otaStatus];
	if (otaStatus === "idle") return "no update yet";
	if (otaStatus === "pending" || otaStatus === "failed") return `update ${words}`;
	if (otaStatus === "downloading") return `${words} ${otaPercent ?? 0} %`;
	if (otaStatus === "updated" && otaVersion !== null) return `${words} to ${otaVersion}`;
	return words;
}

/** "3 crashes on 1.4.0" */
export function crashText(count: number, version: string | null): string {
	const crashes = count === 1 ? "1 crash" : `${count} crashes`;
	return version === null ? crashes : `${crashes} on ${version}`;
}

/** Whether the device is busy with an update. */
export function isUpdating({ otaStatus }: OtaMetadata): boolean {
	return isActiveUpdate(otaStatus);
}

/** Whether an update ended otherwise than it should have. */
export function hasFailed({ otaStatus }: OtaMetadata): boolean {
	return otaStatus === "failed" || otaStatus === "rolled_back";
}

export function capital(text: string): string {
	return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The gateway and the device begin their reasons in lower case. */
export function sentence(text: string): string {
	return `${capital(text)}${/[.!?]$/.test(text) ? "" : "."}`;
}

/**
 * A rejection as people read it: the field has the name that the page gives it in place of its path in a message.
 *
 * @param names by the last part of the path
 */
export function withFieldName(text: string, names: Readonly<Record<string, string | undefined>>): string {
	const path = /^(?:\w+: )*(?:\w+\.)*(\w+)(?= must | is )/;
	return text.replace(path, (all, field: string) => entryOf(names, field) ?? all);
}

// Times and dates have the format of the browser's language, or of this computer's.

/** "22 Nov 2026, 14:05", in local time */
export function when(time: string | number): string {
	return new Date(time).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/** "14:05", "2:05 PM" @param seconds since 1970 @param timeZone IANA name; default: this computer's @param timeStyle `medium` adds seconds */
export function clock(seconds: number, timeZone?: string, timeStyle: "short" | "medium" = "short"): string {
	return new Date(seconds * 1000).toLocaleTimeString(undefined, { timeStyle, timeZone });
}

/** "Sat 28 Nov" @param timeZone IANA name */
export function dayText(time: string | number, timeZone: string): string {
	return new Date(time).toLocaleDateString(undefined, {
		weekday: "short",
		day: "numeric",
		month: "short",
		timeZone,
	});
}

/** "10:40" for a time of today, otherwise date and time. @param time in milliseconds since 1970, as `now` */
export function since(time: number, now: number): string {
	const isToday = new Date(time).toDateString() === new Date(now).toDateString();
	return isToday ? clock(time / 1000) : when(time);
}

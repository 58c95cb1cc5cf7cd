/** Schedules: announcements and commands at times of days, once, or after a time, as they are asked for and as they are shown. */

import {
	boolean,
	changeOf,
	either,
	type Infer,
	integer,
	list,
	nothing,
	object,
	oneOf,
	optional,
	pattern,
	string,
} from "../../device/protocol/schema.js";
import { askedAnnouncement } from "./announcement.js";
import { askedCommand, asks } from "./command.js";
import { days } from "./rollout.js";
import { targets } from "./targets.js";
import { freeText } from "./text.js";

export const schedulesAtMost = 200;
/** In local time of a zone. */
export const timeOfDay = pattern(5, "^([01]\\d|2[0-3]):[0-5]\\d$", "a time of day such as 22:00,");
export const someDays = list(oneOf(...days), days.length, 1);

/** When: one of these. */
const at = changeOf({
	/** Without days: each day. */
	weekly: optional(object({ time: timeOfDay, days: optional(someDays) })),
	/** In the gateway's zone. */
	once: optional(
		pattern(
			16,
			"^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d$",
			"a local time such as 2026-11-28T07:30,",
		),
	),
	/** Seconds from now. */
	in: optional(integer(1, 604_800)),
});

/** The body of `POST /api/schedules` and of `PUT /api/schedules/<id>`. */
export const askedSchedule = object({
	name: optional(freeText(64)),
	at,
	/** What is done: the body of `POST /api/announcements`, or of `POST /api/commands`. */
	do: changeOf({ announcement: optional(askedAnnouncement), command: optional(askedCommand) }),
	/** Default: true. */
	on: optional(boolean()),
});
export type AskedSchedule = Infer<typeof askedSchedule>;

/** UTC, as all times of a schedule. */
export const utcTime = pattern(24, "^\\d{4}(-\\d\\d){2}T\\d\\d(:\\d\\d){2}\\.\\d{3}Z$", "a time in UTC,");
const job = string(16);
export const reasonCharacters = 1_000;

/** What happened at a due time. */
const lastRun = object({
	dueAt: utcTime,
	/** When it was done, or given up. */
	at: utcTime,
	/** `late`: done more than 15 s after its time; `missed`: more than 5 minutes after it, so it was left out. */
	outcome: oneOf("failed", "missed", "late", "done"),
	/** One sentence; null: the outcome says it. */
	reason: either(nothing, string(reasonCharacters)),
	/** Id of the announcement or the command; null: none has begun. */
	job: either(nothing, job),
});
export type LastRun = Infer<typeof lastRun>;

/** As it was checked: it needs nothing else to be begun. */
export const checkedAction = changeOf({
	announcement: optional(askedAnnouncement),
	command: optional(object({ targets, payload: either(...Object.values(asks)) })),
});

/** As it is stored and shown. */
export const schedule = object({
	name: askedSchedule.fields.name,
	at,
	do: checkedAction,
	on: boolean(),
	/** IANA name of the gateway's zone when the schedule was made or changed: its local times are of this zone. */
	zone: string(64),
	/** The name of the token by which it was made or changed. */
	by: string(64),
	createdAt: utcTime,
	/** Null: it is off, or was the last time. */
	nextAt: either(nothing, utcTime),
	/** Null: it was not due yet. */
	last: either(nothing, lastRun),
	/** While it is acted on, beside what is shown. */
	claim: optional(object({ dueAt: utcTime, job, gateway: string(36) })),
});
export type Schedule = Omit<Infer<typeof schedule>, "claim"> & { readonly id: string };

/** `GET /api/schedules`: the next due first; those that have ended stay for a day. */
export interface ScheduleList {
	/** IANA name of the gateway's zone. */
	readonly zone: string;
	readonly schedules: readonly Schedule[];
}

/** Schedules: announcements and commands at times of days, once, or after a time, as they are asked for and as they are shown. */

import {
	boolean,
	changeOf,
	type Infer,
	integer,
	list,
	object,
	oneOf,
	optional,
	pattern,
} from "../../device/protocol/schema.js";
import { type AskedAnnouncement, askedAnnouncement } from "./announcement.js";
import { type Ask, askedCommand } from "./command.js";
import { days } from "./rollout.js";
import type { Targets } from "./targets.js";
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

/** In the order in which people read them. */
export const scheduleOutcomes = ["failed", "missed", "late", "done"] as const;
export type ScheduleOutcome = (typeof scheduleOutcomes)[number];

/** What happened at a due time. */
export interface LastRun {
	/** UTC, like all times here. */
	readonly dueAt: string;
	/** When it was done, or given up. */
	readonly at: string;
	/** `late`: done more than 15 s after its time; `missed`: more than 5 minutes after it, so it was left out. */
	readonly outcome: ScheduleOutcome;
	/** One sentence; null: the outcome says it. */
	readonly reason: string | null;
	/** Id of the announcement or the command; null: none has begun. */
	readonly job: string | null;
}

export interface Schedule {
	readonly id: string;
	readonly name?: string;
	readonly at: AskedSchedule["at"];
	readonly do: {
		readonly announcement?: AskedAnnouncement;
		readonly command?: { readonly targets: Targets; readonly payload: Ask };
	};
	readonly on: boolean;
	/** IANA name of the gateway's zone when the schedule was made or changed: its local times are of this zone. */
	readonly zone: string;
	/** The name of the token by which it was made or changed. */
	readonly by: string;
	readonly createdAt: string;
	/** Null: it is off, or was the last time. */
	readonly nextAt: string | null;
	/** Null: it was not due yet. */
	readonly last: LastRun | null;
}

/** `GET /api/schedules`: the next due first; those that have ended stay for a day. */
export interface ScheduleList {
	/** IANA name of the gateway's zone. */
	readonly zone: string;
	readonly schedules: readonly Schedule[];
}

/** Schedules: announcements and commands at times of days, once, or after a time, as they are asked for and as they are shown. */

import {
	boolean,
	changeOf,
	either,
	type Infer,
	integer,
	nothing,
	object,
	oneOf,
	optional,
	pattern,
	string,
} from "../../device/protocol/schema.js";
import { askedAnnouncement } from "./announcement.js";
import { askedCommand, asks, documentedCommand } from "./command.js";
import { everyone, users } from "./permissions.js";
import { defineRoutes, json, notRemoved, notWrittenYet } from "./route.js";
import { array, closed, described, type InferShape, reference, text } from "./shapes.js";
import { targets } from "./targets.js";
import { freeText } from "./text.js";
import { someDays, timeOfDay } from "./times.js";

export const schedulesAtMost = 200;

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
const { claim: _, ...shownFields } = schedule.fields;
const shownSchedule = closed({ id: text, ...shownFields });
export type Schedule = InferShape<typeof shownSchedule>;

const scheduleList = closed({
	zone: described(text, "IANA name of the gateway's zone"),
	schedules: array(reference({ schedule: shownSchedule })),
});
export type ScheduleList = InferShape<typeof scheduleList>;

const scheduleBody = json(
	askedSchedule,
	{
		at: { weekly: { time: "17:50", days: ["mon", "tue", "wed", "thu", "fri"] } },
		do: { announcement: { text: "We close", targets: { all: true } } },
	},
	{
		description:
			"When (one of `weekly`, `once` and `in`), and what: the body of `POST /api/announcements` or of `POST /api/commands`, which is " +
			"validated as it would be there now.",
		documented: closed({
			...askedSchedule.fields,
			do: closed({
				announcement: optional(reference({ askedAnnouncement })),
				command: optional(documentedCommand),
			}),
		}),
		// An announcement may name many devices.
		maxBytes: 64 << 10,
	},
);
const cannotPlay =
	"A text, but SPEECH_COMMAND is not set; or an address of another format than WAV, but DECODE_COMMAND is not.";

export const scheduleRoutes = defineRoutes("schedules", {
	"GET /api/schedules": {
		summary: "The schedules, the next due first; one that has ended stays for a day",
		roles: everyone,
		returns: "The schedules, and the gateway's zone.",
		reply: scheduleList,
	},
	"POST /api/schedules": {
		summary: "Creates a schedule, at most 200 in all",
		roles: users,
		body: scheduleBody,
		status: 201,
		location: "/api/schedules/:id",
		returns: "It is created.",
		reply: reference({ schedule: shownSchedule }),
		problems: {
			409: "There are 200 schedules.",
			501: cannotPlay,
			507: "It could not be written to disk, and was not created. With several gateways 503.",
		},
	},
	"PUT /api/schedules/:id": {
		summary: "Replaces a schedule's time and action; a duration starts again",
		roles: users,
		body: scheduleBody,
		returns: "It is changed.",
		reply: reference({ schedule: shownSchedule }),
		problems: { 404: "No schedule has this id.", 501: cannotPlay, 507: notWrittenYet },
	},
	"DELETE /api/schedules/:id": {
		summary: "Deletes a schedule; an announcement or command that it has started continues",
		roles: users,
		returns: "It is deleted.",
		problems: { 404: "No schedule has this id.", 507: notRemoved },
	},
});

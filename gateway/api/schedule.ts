/** Schedules of announcements and commands, weekly, once or after a delay: requests, responses and routes. */

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

/** Time of a schedule: exactly one of the fields. */
const at = changeOf({
	/** Default of `days`: every day. */
	weekly: optional(object({ time: timeOfDay, days: optional(someDays) })),
	/** Local time in the gateway's time zone. */
	once: optional(
		pattern(
			16,
			"^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d$",
			"a local time such as 2026-11-28T07:30,",
		),
	),
	/** Delay in seconds. */
	in: optional(integer(1, 604_800)),
});

/** The body of `POST /api/schedules` and of `PUT /api/schedules/<id>`. */
export const askedSchedule = object({
	name: optional(freeText(64)),
	at,
	/** Action: the body of `POST /api/announcements` or `POST /api/commands`. */
	do: changeOf({ announcement: optional(askedAnnouncement), command: optional(askedCommand) }),
	/** Default: true. */
	on: optional(boolean()),
});
export type AskedSchedule = Infer<typeof askedSchedule>;

/** ISO 8601 in UTC with milliseconds. */
export const utcTime = pattern(24, "^\\d{4}(-\\d\\d){2}T\\d\\d(:\\d\\d){2}\\.\\d{3}Z$", "a time in UTC,");
const job = string(16);
export const reasonCharacters = 1_000;

/** Outcome of a due time. */
const lastRun = object({
	dueAt: utcTime,
	/** Time of the outcome. */
	at: utcTime,
	/** `late`: run more than 15 s after its due time; `missed`: skipped, more than 5 minutes after it. */
	outcome: oneOf("failed", "missed", "late", "done"),
	/** One sentence; null: the outcome says it. */
	reason: either(nothing, string(reasonCharacters)),
	/** Id of the announcement or the command; null: none has begun. */
	job: either(nothing, job),
});
export type LastRun = Infer<typeof lastRun>;

/** Validated action, ready to be started. */
export const checkedAction = changeOf({
	announcement: optional(askedAnnouncement),
	command: optional(object({ targets, payload: either(...Object.values(asks)) })),
});

/** Stored form of a schedule. */
export const schedule = object({
	name: askedSchedule.fields.name,
	at,
	do: checkedAction,
	on: boolean(),
	/** IANA name of the time zone of its local times: the gateway's when the schedule was last changed. */
	zone: string(64),
	/** Name of the token that created or last changed it. */
	by: string(64),
	createdAt: utcTime,
	/** Next due time; null: off or finished. */
	nextAt: either(nothing, utcTime),
	/** Latest outcome; null: not due yet. */
	last: either(nothing, lastRun),
	/** Claim of the gateway that is running it; not shown. */
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

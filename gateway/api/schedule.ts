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
import { announcementRequest } from "./announcement.js";
import { commandRequest, confirmableCommands, documentedCommand } from "./command.js";
import { everyone, users } from "./permissions.js";
import { defineRoutes, json, notRemoved, notWrittenYet } from "./route.js";
import { array, closed, described, type InferShape, reference, text } from "./shapes.js";
import { targets } from "./targets.js";
import { freeText } from "./text.js";
import { someDays, timeOfDay } from "./times.js";

export const maxSchedules = 200;

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

/** Body of `POST /api/schedules` and `PUT /api/schedules/<id>`. */
export const scheduleRequest = object({
	name: optional(freeText(64)),
	at,
	/** Action: body of `POST /api/announcements` or `POST /api/commands`. */
	do: changeOf({ announcement: optional(announcementRequest), command: optional(commandRequest) }),
	/** Default: true. */
	on: optional(boolean()),
});
export type ScheduleRequest = Infer<typeof scheduleRequest>;

/** ISO 8601 in UTC with milliseconds. */
export const utcTime = pattern(24, "^\\d{4}(-\\d\\d){2}T\\d\\d(:\\d\\d){2}\\.\\d{3}Z$", "a time in UTC,");
const job = string(16);
export const maxReasonLength = 1_000;

/** Outcome of a due time. */
const lastRun = object({
	dueAt: utcTime,
	/** Time of the outcome. */
	at: utcTime,
	/** `late`: run more than 15 s after its due time; `missed`: skipped, more than 5 minutes after it. */
	outcome: oneOf("failed", "missed", "late", "done"),
	/** Reason as a sentence; null if the outcome needs none. */
	reason: either(nothing, string(maxReasonLength)),
	/** Id of the announcement or command; null: not started. */
	job: either(nothing, job),
});
export type LastRun = Infer<typeof lastRun>;

/** Validated action, ready to be started. */
export const checkedAction = changeOf({
	announcement: optional(announcementRequest),
	command: optional(object({ targets, payload: either(...Object.values(confirmableCommands)) })),
});

/** Stored form of a schedule. */
export const schedule = object({
	name: scheduleRequest.fields.name,
	at,
	do: checkedAction,
	on: boolean(),
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
const zone = described(text, "IANA name of the gateway's time zone");
const shownSchedule = closed({ id: text, ...shownFields, zone });
export type Schedule = InferShape<typeof shownSchedule>;

const scheduleList = closed({
	zone,
	schedules: array(reference({ schedule: shownSchedule })),
});
export type ScheduleList = InferShape<typeof scheduleList>;

const scheduleBody = json(
	scheduleRequest,
	{
		at: { weekly: { time: "17:50", days: ["mon", "tue", "wed", "thu", "fri"] } },
		do: { announcement: { text: "We close", targets: { all: true } } },
	},
	{
		description:
			"Time (one of `weekly`, `once` and `in`) and action: the body of `POST /api/announcements` or `POST /api/commands`, with the same " +
			"validation.",
		documented: closed({
			...scheduleRequest.fields,
			do: closed({
				announcement: optional(reference({ askedAnnouncement: announcementRequest })),
				command: optional(documentedCommand),
			}),
		}),
		// An announcement may name many devices.
		maxBytes: 64 << 10,
	},
);
const cannotPlay =
	"A text requires SPEECH_COMMAND; a URL of another format than WAV requires DECODE_COMMAND.";

export const scheduleRoutes = defineRoutes("schedules", {
	"GET /api/schedules": {
		summary: "Lists schedules, next due first; finished ones are listed for a day",
		roles: everyone,
		reply: scheduleList,
	},
	"POST /api/schedules": {
		summary: "Creates a schedule (at most 200)",
		roles: users,
		body: scheduleBody,
		status: 201,
		location: "/api/schedules/:id",
		reply: reference({ schedule: shownSchedule }),
		problems: {
			409: "There are 200 schedules.",
			501: cannotPlay,
			507: "The schedule could not be written to disk and was not created. With several gateways 503.",
		},
	},
	"PUT /api/schedules/:id": {
		summary: "Replaces a schedule's time and action; a delay starts again",
		roles: users,
		body: scheduleBody,
		reply: reference({ schedule: shownSchedule }),
		problems: { 501: cannotPlay, 507: notWrittenYet },
	},
	"DELETE /api/schedules/:id": {
		summary: "Deletes a schedule; an announcement or command that it started continues",
		roles: users,
		problems: { 507: notRemoved },
	},
});

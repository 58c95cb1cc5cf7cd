/** Device records: labels, crashes, updates, restarts, the last 24 hours, and rejections. */

import { crashKinds, type StateReport } from "../../device/protocol/messages.js";
import { boolean, float, integer, oneOf, optional } from "../../device/protocol/schema.js";
import { allOptional } from "./json.js";
import { label, labelChange } from "./label.js";
import { everyone, monitors } from "./permissions.js";
import { defineRoutes, json, notRemoved, notWrittenYet } from "./route.js";
import { knownDevice } from "./session.js";
import {
	anyRecord,
	array,
	closed,
	count,
	dateTime,
	described,
	type InferShape,
	nullable,
	reference,
	text,
	typed,
	wholeNumber,
} from "./shapes.js";
import { otaStatuses } from "./statuses.js";

const crash = closed({
	id: text,
	kind: oneOf(...crashKinds),
	message: text,
	file: described(nullable(text), "source file, relative to the project"),
	line: nullable(wholeNumber),
	stack: described(text, "lines of `at function (file:line)`, or program counters; may be empty"),
	version: described(nullable(text), "version of the crashed firmware"),
	uptimeSeconds: wholeNumber,
	trace: described(text, "last trace output"),
	at: described(dateTime, "time of receipt at the gateway"),
});
export type PastCrash = InferShape<typeof crash>;

const update = closed({
	status: oneOf(...otaStatuses),
	percent: described(nullable(integer(0, 100)), "progress of the download; null before it"),
	version: nullable(text),
	from: described(nullable(text), "the previous version"),
	reason: described(nullable(text), "reason of a failure or rollback"),
	startedAt: dateTime,
	endedAt: nullable(dateTime),
});
export type OwnUpdate = InferShape<typeof update>;

/** Lists of past events, latest last. */
const history = {
	settingsKeptAt: described(
		nullable(dateTime),
		"time at which the device last stored new settings; null if unknown",
	),
	versions: described(array(closed({ version: text, at: dateTime })), "at most 10, as are resets"),
	resets: array(closed({ reason: text, at: dateTime })),
	updates: array(update),
	crashes: described(array(crash), "at most 20"),
};
const deviceHistory = closed(history);
export type DeviceHistory = InferShape<typeof deviceHistory>;

/** Record of a replaced board. */
const replaced = closed({
	...label.fields,
	deviceId: text,
	by: described(text, "id of the device that replaced it"),
	at: dateTime,
	who: described(text, "name of the token that replaced it"),
	model: knownDevice.fields.model,
	firmwareVersion: knownDevice.fields.firmwareVersion,
	firstSeenAt: dateTime,
	lastSeenAt: dateTime,
	...allOptional(history),
});

const deviceDetails = closed({
	...knownDevice.fields,
	...history,
	before: described(
		optional(array(replaced)),
		"replaced boards, latest first; absent without the extension for replacement",
	),
	state: described(nullable(typed<StateReport>(anyRecord)), "latest state_report"),
});
export type DeviceDetails = InferShape<typeof deviceDetails>;

/** Minimum and maximum of each step; null without a report. */
const extremes = closed({ min: array(nullable(wholeNumber)), max: array(nullable(wholeNumber)) });

const pastMark = closed({
	at: described(dateTime, "time of receipt of a crash; end of an update, or its start while it is running"),
	kind: oneOf("restart", "crash", "update"),
	reason: described(text, "reset reason, type of the crash, or status of the update"),
	version: described(nullable(text), "version of the crashed or installed firmware; null for a restart"),
});
export type PastMark = InferShape<typeof pastMark>;

const past = described(
	closed({
		from: described(dateTime, "start of the first step"),
		stepSeconds: integer(300, 300),
		rssi: described(extremes, "in dBm"),
		heap: described(array(nullable(count)), "least free heap, in bytes, a multiple of 1024"),
		light: described(nullable(extremes), "0 to 4095, a multiple of 16; null for a model without a sensor"),
		presence: described(
			array(nullable(float(0, 1))),
			"part of the step with reports, in eighths; null before the gateway's start",
		),
		marks: described(
			array(pastMark),
			"restarts, crashes and updates of these 24 hours, latest last; at most 40",
		),
	}),
	"Columns of 288 steps of 5 minutes; the current step is last. null without a report.",
);
export type Past = InferShape<typeof past>;

/** Rejected device, dropped reports, ended webhook, or failed schedule. */
const listedRejection = closed({
	id: described(text, "id, stable while the rejection repeats"),
	what: described(
		oneOf("connection", "report", "webhook", "schedule"),
		"webhook: the receiver responded with 410 and gets no further events; schedule: failed or missed",
	),
	deviceId: described(nullable(text), "id sent by the client"),
	remoteAddress: described(
		text,
		"address of the client, origin of the webhook's URL, or name of the schedule",
	),
	reason: described(text, "one sentence"),
	count: described(integer(1, Number.MAX_SAFE_INTEGER), "number of occurrences"),
	firstAt: dateTime,
	lastAt: dateTime,
	seen: described(boolean(), "marked as seen, and not repeated since"),
	replacedBy: described(optional(text), "id of the device that replaced it"),
});
export type ListedRejection = InferShape<typeof listedRejection>;

export const deviceRoutes = defineRoutes("fleet", {
	"GET /api/rejections": {
		summary:
			"Lists the latest 50 rejected connections, dropped reports, ended webhooks and failed schedules since the gateway's start, newest first",
		roles: everyone,
		reply: closed({ rejections: array(listedRejection) }),
	},
	"GET /api/devices": {
		summary: "Lists all known devices, connected or not",
		roles: everyone,
		reply: closed({ devices: array(reference({ knownDevice })) }),
	},
	"DELETE /api/devices": {
		summary: "Removes disconnected devices that were last seen before a time; all monitors are notified",
		description: "Takes at most 15 s. Repeat the request while `left` is not 0.",
		roles: monitors,
		query: {
			awayDays: {
				...integer(1, 3650),
				description: "minimum number of days since the device was last seen",
				example: 30,
			},
		},
		reply: closed({
			forgotten: described(count, "removed"),
			kept: described(count, "not removed: the disk failed, or the device reconnected"),
			left: described(count, "remaining for a repeated request"),
		}),
	},
	"GET /api/devices/:deviceId": {
		summary: "Returns all data of a device",
		roles: everyone,
		reply: deviceDetails,
	},
	"PATCH /api/devices/:deviceId": {
		summary: "Changes the label of a device; all monitors are notified",
		roles: monitors,
		body: json(labelChange, { name: "Lobby speaker", room: "Lobby", note: "" }),
		reply: reference({ knownDevice }),
		problems: { 507: notWrittenYet },
	},
	"DELETE /api/devices/:deviceId": {
		summary: "Removes a disconnected device; all monitors get a new snapshot",
		roles: monitors,
		problems: {
			409: "The device is connected and would be added again at once.",
			507: notRemoved,
		},
	},
	"GET /api/devices/:deviceId/history": {
		summary:
			"Returns the last 24 hours of a device, in steps of 5 minutes; held in memory, since the gateway's start",
		roles: everyone,
		reply: past,
	},
});

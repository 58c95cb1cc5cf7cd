/** Device records: labels, crashes, updates, restarts, the last 24 hours, and rejections. */

import { crashKinds, type StateReport } from "../../device/protocol/messages.js";
import { boolean, float, integer, oneOf, optional } from "../../device/protocol/schema.js";
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

/** Path parameter `deviceId`. */
export const aDevice = { deviceId: { ...text, example: "dev-1-a1b2c3" } } as const;

const crash = closed({
	id: text,
	kind: oneOf(...crashKinds),
	message: text,
	file: described(nullable(text), "source file, relative to the project"),
	line: nullable(wholeNumber),
	stack: described(text, "lines of `at function (file:line)`, or program counters; may be empty"),
	version: described(nullable(text), "of the firmware that crashed"),
	uptimeSeconds: wholeNumber,
	trace: described(text, "last trace output"),
	at: described(dateTime, "when the gateway received it"),
});
export type PastCrash = InferShape<typeof crash>;

const update = closed({
	status: oneOf(...otaStatuses),
	percent: described(nullable(integer(0, 100)), "null before the download"),
	version: nullable(text),
	from: described(nullable(text), "the previous version"),
	reason: described(nullable(text), "why it failed or was rolled back"),
	startedAt: dateTime,
	endedAt: nullable(dateTime),
});
export type OwnUpdate = InferShape<typeof update>;

/** Lists of past events, latest last. */
const history = {
	settingsKeptAt: described(
		nullable(dateTime),
		"when it last kept new settings; null: unknown to this gateway",
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
	by: described(text, "the device that has replaced it"),
	at: dateTime,
	who: described(text, "name of the token by which it was replaced"),
	model: knownDevice.fields.model,
	firmwareVersion: knownDevice.fields.firmwareVersion,
	firstSeenAt: dateTime,
	lastSeenAt: dateTime,
	settingsKeptAt: optional(history.settingsKeptAt),
	versions: optional(history.versions),
	resets: optional(history.resets),
	updates: optional(history.updates),
	crashes: optional(history.crashes),
});
export type ReplacedDevice = InferShape<typeof replaced>;

const deviceDetails = closed({
	...knownDevice.fields,
	...history,
	before: described(
		optional(array(replaced)),
		"the boards that it has replaced, the latest first; absent: this gateway replaces none",
	),
	state: described(nullable(typed<StateReport>(anyRecord)), "the latest state_report"),
});
export type DeviceDetails = InferShape<typeof deviceDetails>;

/** Minimum and maximum of each step; null without a report. */
const extremes = closed({ min: array(nullable(wholeNumber)), max: array(nullable(wholeNumber)) });
export type Extremes = InferShape<typeof extremes>;

const pastMark = closed({
	at: described(
		dateTime,
		"for a crash when the gateway received it; for an update its end, or its start while it runs",
	),
	kind: oneOf("restart", "crash", "update"),
	reason: described(text, "the reset reason, the type of the crash, or the status of the update"),
	version: described(
		nullable(text),
		"of the firmware that crashed, or that was installed; null for a restart",
	),
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
			"share of the step in which it reported, in eighths; null before the gateway's start",
		),
		marks: described(
			array(pastMark),
			"restarts, crashes and updates of these 24 hours, the latest last; at most 40",
		),
	}),
	"Columns of 288 steps of 5 minutes, the latest last, which includes the current one. null where nothing was reported.",
);
export type Past = InferShape<typeof past>;

/** Rejected device, dropped reports, ended webhook, or failed schedule. */
const listedRejection = closed({
	id: described(text, "the same for the same rejection"),
	what: described(
		oneOf("connection", "report", "webhook", "schedule"),
		"webhook: its receiver has answered 410, so it gets nothing more; schedule: it has failed, or was missed",
	),
	deviceId: described(nullable(text), "as the client names it"),
	remoteAddress: described(text, "for a webhook the origin of its address, for a schedule its name"),
	reason: described(text, "one sentence"),
	count: described(integer(1, Number.MAX_SAFE_INTEGER), "how often this happened"),
	firstAt: dateTime,
	lastAt: dateTime,
	seen: described(boolean(), "a person has seen it, and it was not repeated since"),
	replacedBy: described(optional(text), "id of the device that has replaced it"),
});
export type ListedRejection = InferShape<typeof listedRejection>;

const unknownDevice = "No device has this id.";

export const deviceRoutes = defineRoutes("fleet", {
	"GET /api/refusals": {
		summary:
			"The latest 50 rejected connections, dropped reports, ended webhooks and failed schedules since the gateway's start, the newest first",
		roles: everyone,
		returns: "The rejections.",
		reply: closed({ refusals: array(listedRejection) }),
	},
	"GET /api/devices": {
		summary: "Every known device, connected or not",
		roles: everyone,
		returns: "The devices.",
		reply: closed({ devices: array(reference({ knownDevice })) }),
	},
	"DELETE /api/devices": {
		summary: "Removes all devices that are away and were last seen before a time; every monitor is notified",
		description: "It takes 15 s at most. Where some are left, repeat the request.",
		roles: monitors,
		query: {
			awayDays: {
				...integer(1, 3650),
				description: "devices that were last seen more than this many days ago",
				example: 30,
			},
		},
		returns: "The numbers of devices.",
		reply: closed({
			forgotten: described(count, "removed"),
			kept: described(count, "could not be removed from disk, or have connected meanwhile"),
			left: described(count, "left for a repeated request"),
		}),
		example: { forgotten: 12, kept: 0, left: 0 },
	},
	"GET /api/devices/:deviceId": {
		summary: "Everything known about a device",
		roles: everyone,
		params: aDevice,
		returns: "The device.",
		reply: deviceDetails,
		problems: { 404: unknownDevice },
	},
	"PATCH /api/devices/:deviceId": {
		summary: "Sets name, room, note or tags of a device; every monitor is notified",
		roles: monitors,
		params: aDevice,
		body: json(labelChange, { name: "Lobby speaker", room: "Lobby", note: "" }),
		returns: "The device.",
		reply: reference({ knownDevice }),
		problems: { 404: unknownDevice, 507: notWrittenYet },
	},
	"DELETE /api/devices/:deviceId": {
		summary: "Removes a device that is not connected; every monitor gets a new snapshot",
		roles: monitors,
		params: aDevice,
		returns: "It is removed.",
		problems: {
			404: unknownDevice,
			409: "The device is connected, and would be added again at once.",
			507: notRemoved,
		},
	},
	"GET /api/devices/:deviceId/history": {
		summary:
			"The last 24 hours of a device, in steps of 5 minutes; kept in memory only, so since the gateway's start",
		roles: everyone,
		params: aDevice,
		returns: "The history.",
		reply: past,
		problems: { 404: unknownDevice },
	},
});

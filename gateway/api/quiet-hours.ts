/** Quiet hours: when and where sound and light are limited, as they are asked for and as they are shown. */

import { deviceId } from "../../device/protocol/messages.js";
import {
	boolean,
	changeOf,
	either,
	float,
	type Infer,
	integer,
	nothing,
	object,
	optional,
	string,
} from "../../device/protocol/schema.js";
import { everyone, monitors } from "./permissions.js";
import { defineRoutes, json, notRemoved, notWrittenYet } from "./route.js";
import { utcTime } from "./schedule.js";
import { array, closed, dateTime, described, type InferShape, nullable, reference, text } from "./shapes.js";
import { freeText } from "./text.js";
import { someDays, timeOfDay } from "./times.js";

/** The body of `PUT /api/quiet-hours`, which replaces those of the same targets. Of the three limits at least one. */
export const askedQuietHours = object({
	/** One of them. The most specific counts for a device: its own, else its room's, else those of all. */
	targets: changeOf({
		all: optional(boolean()),
		room: optional(freeText(64)),
		device: optional(deviceId),
	}),
	/** In the gateway's zone. */
	from: timeOfDay,
	/** If it is not after `from`, of the next day. */
	until: timeOfDay,
	/** On which they begin; default: each day. */
	days: optional(someDays),
	/** The loudest that is heard, in percent. */
	volume: optional(integer(0, 100)),
	/** The brightest of the light ring. */
	brightness: optional(float(0, 1)),
	/** Whether only urgent announcements are played; default: false. */
	onlyUrgent: optional(boolean()),
	/** Default: true. Those that are off count all the same: a device for which they count has none. */
	on: optional(boolean()),
});
export type AskedQuietHours = Infer<typeof askedQuietHours>;

/** As they are stored. */
export const keptQuietHours = object({
	...askedQuietHours.fields,
	on: boolean(),
	/** IANA name of the gateway's zone when they were set: `from` and `until` are of this zone. */
	zone: string(64),
	/** The name of the token by which they were set; null: by another program of the gateway, such as Home Assistant. */
	by: either(nothing, string(64)),
	changedAt: utcTime,
});

const shownQuietHours = closed({
	id: text,
	...keptQuietHours.fields,
	holdsUntil: described(nullable(dateTime), "end of the period that holds now; null: none does"),
});
export type QuietHours = InferShape<typeof shownQuietHours>;

const quietHoursList = closed({
	zone: described(text, "IANA name of the gateway's zone"),
	quietHours: array(reference({ quietHours: shownQuietHours })),
});
export type QuietHoursList = InferShape<typeof quietHoursList>;

export const quietHoursRoutes = defineRoutes("schedules", {
	"GET /api/quiet-hours": {
		summary: "Quiet hours: of all devices first, then of rooms, then of devices",
		roles: everyone,
		returns: "The quiet hours, and the gateway's zone.",
		reply: quietHoursList,
	},
	"PUT /api/quiet-hours": {
		summary: "Sets the quiet hours of all devices, a room or a device, and replaces the previous ones",
		roles: monitors,
		body: json(askedQuietHours, { targets: { room: "Kitchen" }, from: "22:00", until: "07:00", volume: 20 }),
		returns: "They are set.",
		reply: reference({ quietHours: shownQuietHours }),
		problems: { 507: notWrittenYet },
	},
	"DELETE /api/quiet-hours/:id": {
		summary: "Removes quiet hours",
		roles: monitors,
		returns: "They are removed.",
		problems: { 404: "No quiet hours have this id.", 507: notRemoved },
	},
});

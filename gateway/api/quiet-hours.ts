/** Quiet hours, which limit sound and light: requests, responses and routes. */

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

/** Body of `PUT /api/quiet-hours`, with at least one of the three limits. Replaces the quiet hours of the same targets. */
export const quietHoursRequest = object({
	/** Exactly one. Quiet hours of a device take precedence over those of its room, and these over those of all. */
	targets: changeOf({
		all: optional(boolean()),
		room: optional(freeText(64)),
		device: optional(deviceId),
	}),
	/** Start, in the gateway's time zone. */
	from: timeOfDay,
	/** End; on the next day if it is not after `from`. */
	until: timeOfDay,
	/** Days on which they begin; default: every day. */
	days: optional(someDays),
	/** Maximum volume, in percent. */
	volume: optional(integer(0, 100)),
	/** Maximum brightness of the LED ring, 0 to 1. */
	brightness: optional(float(0, 1)),
	/** Whether only urgent announcements are played; default: false. */
	onlyUrgent: optional(boolean()),
	/** Default: true. If false, they still take precedence over less specific ones, so that the device has none. */
	on: optional(boolean()),
});
export type QuietHoursRequest = Infer<typeof quietHoursRequest>;

/** Stored form. */
export const storedQuietHours = object({
	...quietHoursRequest.fields,
	on: boolean(),
	/** Name of the token that set them; null: set without one, such as by Home Assistant. */
	by: either(nothing, string(64)),
	changedAt: utcTime,
});

const zone = described(text, "IANA name of the gateway's time zone");
const shownQuietHours = closed({
	id: text,
	...storedQuietHours.fields,
	zone,
	holdsUntil: described(nullable(dateTime), "end of the current period; null: not active now"),
});
export type QuietHours = InferShape<typeof shownQuietHours>;

const quietHoursList = closed({
	zone,
	quietHours: array(reference({ quietHours: shownQuietHours })),
});

export const quietHoursRoutes = defineRoutes("schedules", {
	"GET /api/quiet-hours": {
		summary: "Lists quiet hours: of all devices first, then of rooms, then of single devices",
		roles: everyone,
		reply: quietHoursList,
	},
	"PUT /api/quiet-hours": {
		summary: "Sets or replaces the quiet hours of all devices, a room or a device",
		roles: monitors,
		body: json(quietHoursRequest, {
			targets: { room: "Kitchen" },
			from: "22:00",
			until: "07:00",
			volume: 20,
		}),
		reply: reference({ quietHours: shownQuietHours }),
		problems: { 507: notWrittenYet },
	},
	"DELETE /api/quiet-hours/:id": {
		summary: "Removes quiet hours",
		roles: monitors,
		problems: { 507: notRemoved },
	},
});

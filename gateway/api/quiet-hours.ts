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
import { someDays, timeOfDay, utcTime } from "./schedule.js";
import { freeText } from "./text.js";

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

/** As they are shown. */
export type QuietHours = Infer<typeof keptQuietHours> & {
	readonly id: string;
	/** UTC: until when they hold now; null: they do not. */
	readonly holdsUntil: string | null;
};

/** `GET /api/quiet-hours`: those of all, then of rooms, then of devices. */
export interface QuietHoursList {
	/** IANA name of the gateway's zone. */
	readonly zone: string;
	readonly quietHours: readonly QuietHours[];
}

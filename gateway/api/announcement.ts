/** Announcements: a sound that is played on several devices, as it is asked for and as it is shown. */

import { chimes, priority } from "../../device/protocol/messages.js";
import {
	boolean,
	type Infer,
	integer,
	object,
	oneOf,
	optional,
	pattern,
	string,
} from "../../device/protocol/schema.js";
import { closed, dateTime, described, type InferShape, nullable, text } from "./shapes.js";
import { targets } from "./targets.js";
import { freeText } from "./text.js";

export const longestName = 64;
/** Of a kept sound. */
export const longestSeconds = 120;
/** A text that is to be spoken. */
const spokenText = freeText(1000);
export const askedSpeech = object({ text: spokenText });

/** Of `sound`, `url` and `text` one. */
export const askedAnnouncement = object({
	/** Id of a kept sound. */
	sound: optional(string(64)),
	/** Of a WAV file elsewhere, which the devices fetch themselves. */
	url: optional(pattern(512, "^https?://[\\x21-\\x7e]+$", "an address with http:// or https://")),
	/** Is spoken. */
	text: optional(spokenText),
	targets,
	/** Of this sound alone; default: as it is set on each device. */
	volume: optional(integer(0, 100)),
	/** Heard before it, on devices that can. */
	chime: optional(oneOf(...chimes)),
	/** Default: that of the sound. */
	chimeVolume: optional(integer(0, 100)),
	/** Whether all begin at once; default: from two devices on. */
	together: optional(boolean()),
	/** Default: normal. An urgent one interrupts what plays, which goes on after it; others wait their turn. */
	priority: optional(priority),
	/** Seconds, from when its sound is there, within which a device must have begun; default: 300. */
	expires: optional(integer(1, 86_400)),
});
export type AskedAnnouncement = Infer<typeof askedAnnouncement>;

/** The order in which they are shown: what needs attention first. */
export const playStates = [
	"failed",
	"unsupported",
	"busy",
	"away",
	"expired",
	"stopped",
	"preparing",
	"waiting",
	"ready",
	"playing",
	"resumed",
	"played",
] as const;
export type PlayState = (typeof playStates)[number];

const count = integer(0, Number.MAX_SAFE_INTEGER);

/** A device's part of an announcement. */
export const play = closed({
	deviceId: text,
	state: oneOf(...playStates),
	reason: described(nullable(text), "one sentence"),
	at: described(dateTime, "of the latest change of its state"),
	lateMs: described(nullable(count), "after the others, at which it began; null if it began with them"),
	heardMs: described(nullable(count), "null until the device says so"),
	underruns: described(count, "how often it had to wait for the network"),
});
export type Play = InferShape<typeof play>;

export interface Announcement {
	readonly id: string;
	/** Name of the sound, or the text; null for an address. */
	readonly name: string | null;
	/** The name of the token by which it was begun; null: by another program of the gateway, such as Home Assistant. */
	readonly by: string | null;
	/** UTC. */
	readonly createdAt: string;
	/** Null until all devices are done. */
	readonly endedAt: string | null;
	readonly counts: Readonly<Record<PlayState, number>>;
	/** The body of the `POST` that plays it once more; null: its sound is gone. */
	readonly again: AskedAnnouncement | null;
	readonly devices: readonly Play[];
}

/** `GET /api/announcements`, the newest first. */
export interface AnnouncementList {
	readonly announcements: readonly Omit<Announcement, "devices">[];
}

/** A kept sound. */
export interface Sound {
	readonly id: string;
	readonly name: string;
	readonly seconds: number;
	/** In bytes. */
	readonly size: number;
	readonly sha256: string;
	/** UTC. */
	readonly createdAt: string;
}

/** `GET /api/sounds`. */
export interface SoundList {
	/** The newest first. */
	readonly sounds: readonly Sound[];
	/** Whether an announcement may be a text. */
	readonly canSpeak: boolean;
}

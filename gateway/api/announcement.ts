/** Announcements and stored sounds: requests, responses and routes. */

import { chimes, priority } from "../../device/protocol/messages.js";
import {
	boolean,
	float,
	type Infer,
	integer,
	object,
	oneOf,
	optional,
	pattern,
	string,
} from "../../device/protocol/schema.js";
import { everyone, users } from "./permissions.js";
import { binary, defineRoutes, jobId, json, notRemoved } from "./route.js";
import {
	array,
	closed,
	count,
	counts,
	dateTime,
	described,
	type InferShape,
	nullable,
	reference,
	text,
} from "./shapes.js";
import { maxTargetsBytes, targets } from "./targets.js";
import { freeText } from "./text.js";

export const longestName = 64;
/** Maximum duration of a stored sound. */
export const longestSeconds = 120;
/** A text that is to be spoken. */
const spokenText = freeText(1000);
export const askedSpeech = object({ text: spokenText });

/** Source: exactly one of `sound`, `url` and `text`. */
export const askedAnnouncement = object({
	/** Id of a kept sound. */
	sound: optional(string(64)),
	/** URL of a WAV file, which the devices download themselves. */
	url: optional(pattern(512, "^https?://[\\x21-\\x7e]+$", "an address with http:// or https://")),
	/** Text converted to speech. */
	text: optional(spokenText),
	targets,
	/** Volume of this sound alone; default: the device's volume. */
	volume: optional(integer(0, 100)),
	/** Chime before the sound, on devices that support it. */
	chime: optional(oneOf(...chimes)),
	/** Default: the volume of the sound. */
	chimeVolume: optional(integer(0, 100)),
	/** Whether all devices start at once; default: true for two devices or more. */
	together: optional(boolean()),
	/** Default: normal. An urgent sound interrupts the current one, which then resumes; others are queued. */
	priority: optional(priority),
	/** Seconds after its sound is ready within which a device must start it; default: 300. */
	expires: optional(integer(1, 86_400)),
});
export type AskedAnnouncement = Infer<typeof askedAnnouncement>;

/** States in display order: problems first. */
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

const announcementHead = {
	id: text,
	name: described(nullable(text), "of the sound, or the text; null for an address"),
	by: described(
		nullable(text),
		"name of the token by which it was started; null: another program, such as Home Assistant",
	),
	createdAt: dateTime,
	endedAt: described(nullable(dateTime), "null until all devices have ended"),
	counts: counts(playStates),
	again: described(
		nullable(reference({ askedAnnouncement })),
		"the body that plays it again; null: its sound is gone",
	),
};
const announcement = closed({ ...announcementHead, devices: array(play) });
export type Announcement = InferShape<typeof announcement>;

const announcementList = closed({ announcements: array(closed(announcementHead)) });
export type AnnouncementList = InferShape<typeof announcementList>;

const sound = closed({
	id: described(text, "the same as sha256"),
	name: text,
	seconds: float(0, longestSeconds),
	size: described(integer(1, Number.MAX_SAFE_INTEGER), "of the file in bytes"),
	sha256: text,
	createdAt: dateTime,
});
export type Sound = InferShape<typeof sound>;

const soundList = closed({
	sounds: described(array(reference({ sound })), "the newest first"),
	canSpeak: described(boolean(), "whether an announcement may be a text: SPEECH_COMMAND is set"),
});
export type SoundList = InferShape<typeof soundList>;

const file = { type: "binary" } as const;
const soundId = { id: described(text, "SHA-256 of the file") };
const unknownSound = "No sound has this id.";
const unknownAnnouncement = "No announcement has this id.";

export const soundRoutes = defineRoutes("announcements", {
	"GET /api/sounds": {
		summary: "The kept sounds, the newest first, and whether texts can be spoken",
		roles: everyone,
		returns: "The sounds.",
		reply: soundList,
	},
	"POST /api/sounds": {
		summary: "Stores a sound; one with the same content only gets the new name",
		roles: users,
		query: {
			name: described(freeText(longestName), "name of the sound, not blank"),
			temporary: described(
				optional(boolean()),
				"true: it is not listed, and is deleted when five newer ones were stored, or the gateway restarts; one that is kept already stays kept",
			),
		},
		body: {
			type: "raw",
			description:
				'A WAV file with PCM of 16 bits, mono, 16 kHz, of at most 2 minutes. A length of its chunk "data" that is 0 or beyond the ' +
				"end of the file counts as that end. A file of another type, of at most 8 MB, is decoded by the program of DECODE_COMMAND.",
			content: {
				"audio/wav": file,
				"audio/*": file,
				"video/*": file,
				"application/octet-stream": file,
			},
		},
		status: 201,
		location: "/api/sounds/:id",
		returns: "It is stored.",
		reply: reference({ sound }),
		problems: {
			400: "The upload was interrupted.",
			408: "The upload has stalled for 30 s.",
			409: "100 sounds are kept.",
			413: "The file is too large.",
			415: "The Content-Type is not that of a sound.",
			422: "The name is missing, or devices cannot play the file; `detail` names the problem.",
			501: "It is no WAV file, and DECODE_COMMAND is not set.",
			503: "4 files wait to be decoded, or it could not be stored in NATS.",
			507: "It could not be written to disk.",
		},
	},
	"GET /api/sounds/:id": {
		summary: "A kept sound",
		roles: everyone,
		params: soundId,
		returns: "The sound.",
		reply: reference({ sound }),
		problems: { 404: unknownSound },
	},
	"DELETE /api/sounds/:id": {
		summary: "Deletes a sound; devices that play it finish it",
		roles: users,
		params: soundId,
		returns: "It is deleted.",
		problems: { 404: unknownSound, 507: notRemoved },
	},
	"GET /sounds/:file": {
		summary: "The file of a sound, whole or in part",
		roles: everyone,
		devices: true,
		params: { file: described(text, "id of the sound, with .wav") },
		returns: "The whole file.",
		reply: binary("audio/wav", { isFile: true }),
		problems: { 404: unknownSound },
	},
	"POST /api/speech": {
		summary: "Speaks a text, to be heard before it is announced",
		roles: users,
		body: json(askedSpeech, { text: "Dinner is ready" }),
		returns: "The text as devices would play it.",
		reply: binary("audio/wav"),
		problems: {
			501: "SPEECH_COMMAND is not set.",
			502: "The program of SPEECH_COMMAND returned no sound.",
			503: "10 texts wait to be spoken, or this one was not spoken within 25 s.",
		},
	},
});

export const announcementRoutes = defineRoutes("announcements", {
	"GET /api/announcements": {
		summary: "The latest announcements, at most 100 of each gateway, the newest first, without their devices",
		roles: everyone,
		returns: "The announcements.",
		reply: announcementList,
	},
	"POST /api/announcements": {
		summary: "Plays a sound on devices",
		roles: users,
		body: json(
			askedAnnouncement,
			{ sound: "<id>", targets: { room: "Kitchen" } },
			{
				description:
					"What to play (a kept sound, the address of a WAV file that devices fetch themselves, or a text), and where. With `together`, " +
					"the default from two devices on, all start at once when all are ready, or after 3 s those that are. The response to a text " +
					'does not wait for speech: each device is "preparing" until then, and fails with the reason if the text cannot be spoken.',
				maxBytes: maxTargetsBytes,
			},
		),
		status: 202,
		location: "/api/announcements/:id",
		returns: "The devices are asked, or will be once the text is spoken.",
		reply: jobId,
		problems: {
			409: "20 announcements are playing.",
			501: "A text, but SPEECH_COMMAND is not set; or an address of another format than WAV, but DECODE_COMMAND is not.",
			503: "10 texts wait to be spoken.",
		},
	},
	"GET /api/announcements/:id": {
		summary: "Progress of an announcement, device by device, failures first",
		roles: everyone,
		returns: "The announcement.",
		reply: announcement,
		problems: { 404: unknownAnnouncement },
	},
	"DELETE /api/announcements/:id": {
		summary: "Stops it on all devices",
		roles: users,
		returns: "The devices are asked to stop.",
		problems: { 404: unknownAnnouncement },
	},
});

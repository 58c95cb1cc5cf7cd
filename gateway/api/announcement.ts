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

export const maxNameLength = 64;
/** Limit of a stored sound. */
export const maxSoundSeconds = 120;
const spokenText = freeText(1000);
export const speechRequest = object({ text: spokenText });

/** Body of `POST /api/announcements`, with exactly one of `sound`, `url` and `text`. */
export const announcementRequest = object({
	/** Id of a stored sound. */
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
export type AnnouncementRequest = Infer<typeof announcementRequest>;

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
	at: described(dateTime, "time of the latest change of state"),
	lateMs: described(
		nullable(count),
		"delay of the start after the other devices; null if it started with them",
	),
	heardMs: described(nullable(count), "audible duration; null until the device reports it"),
	underruns: described(count, "number of pauses caused by the network"),
});
export type Play = InferShape<typeof play>;

const announcementHead = {
	id: text,
	name: described(nullable(text), "name of the sound, or the text; null for a URL"),
	by: described(
		nullable(text),
		"name of the token that started it; null: started without one, such as by Home Assistant",
	),
	createdAt: dateTime,
	endedAt: described(nullable(dateTime), "null until all devices have finished"),
	counts: counts(playStates),
	again: described(
		nullable(reference({ askedAnnouncement: announcementRequest })),
		"body of a request that repeats it; null: its sound was deleted",
	),
};
export const shownAnnouncement = closed({ ...announcementHead, devices: array(play) });
export type Announcement = InferShape<typeof shownAnnouncement>;

const announcementList = closed({ announcements: array(closed(announcementHead)) });

const sound = closed({
	id: described(text, "the same as sha256"),
	name: text,
	seconds: float(0, maxSoundSeconds),
	size: described(integer(1, Number.MAX_SAFE_INTEGER), "size of the file, in bytes"),
	sha256: text,
	createdAt: dateTime,
});
export type Sound = InferShape<typeof sound>;

const soundList = closed({
	sounds: described(array(reference({ sound })), "newest first"),
	canSpeak: described(boolean(), "whether announcements may be text: SPEECH_COMMAND is set"),
});
export type SoundList = InferShape<typeof soundList>;

const file = { type: "binary" } as const;

export const soundRoutes = defineRoutes("announcements", {
	"GET /api/sounds": {
		summary: "Lists stored sounds, newest first, and tells whether text-to-speech is available",
		roles: everyone,
		reply: soundList,
	},
	"POST /api/sounds": {
		summary: "Stores a sound; a sound with the same content is renamed",
		roles: users,
		query: {
			name: described(freeText(maxNameLength), "name of the sound, not blank"),
			temporary: described(
				optional(boolean()),
				"true: the sound is not listed, and is deleted after five newer ones or a restart of the gateway, but kept and listed while a schedule that plays it is listed; no effect on a sound that is already stored",
			),
		},
		body: {
			type: "raw",
			description:
				'A WAV file of at most 2 minutes: 16-bit PCM, mono, 16 kHz. If the length of its chunk "data" is 0 or exceeds the file, the ' +
				"chunk extends to the end of the file. Other files, of at most 8 MB, are decoded by DECODE_COMMAND, whatever their type.",
			content: {
				"audio/wav": file,
				"*/*": file,
			},
		},
		status: 201,
		location: "/api/sounds/:id",
		reply: reference({ sound }),
		problems: {
			400: "The upload was interrupted.",
			408: "The upload stalled: less than 16 KiB arrived in 30 s.",
			409: "100 sounds are stored.",
			413: "The file is too large.",
			415: "The body is a form.",
			422: "The name is missing, or devices cannot play the file; `detail` names the problem.",
			501: "The file is not a WAV file, and DECODE_COMMAND is not set.",
			503: "4 files are waiting for decoding, or NATS is unreachable.",
			507: "The sound could not be written to disk.",
		},
	},
	"GET /api/sounds/:id": {
		summary: "Returns a stored sound",
		roles: everyone,
		reply: reference({ sound }),
	},
	"DELETE /api/sounds/:id": {
		summary: "Deletes a sound; devices that are playing it finish",
		roles: users,
		problems: {
			409: "A schedule plays it; `detail` names the schedules.",
			507: notRemoved,
		},
	},
	"GET /sounds/:file": {
		summary: "Returns the file of a sound, whole or in part",
		roles: everyone,
		devices: true,
		params: { file: described(text, "id of the sound, followed by .wav") },
		reply: binary("audio/wav", { isFile: true }),
	},
	"POST /api/speech": {
		summary: "Converts text to speech, as a preview of an announcement",
		roles: users,
		body: json(speechRequest, { text: "Dinner is ready" }),
		reply: binary("audio/wav"),
		problems: {
			501: "SPEECH_COMMAND is not set.",
			502: "SPEECH_COMMAND returned no sound.",
			503: "10 texts are waiting for speech, or the conversion took more than 25 s.",
		},
	},
});

export const announcementRoutes = defineRoutes("announcements", {
	"GET /api/announcements": {
		summary:
			"Lists the latest announcements, at most 100 of each gateway, newest first, without their devices",
		roles: everyone,
		reply: announcementList,
	},
	"POST /api/announcements": {
		summary: "Plays a sound on devices",
		roles: users,
		body: json(
			announcementRequest,
			{ sound: "<id>", targets: { room: "Kitchen" } },
			{
				description:
					"A stored sound, the URL of a WAV file that devices download themselves, or a text, and the target devices. With `together`, " +
					"the default for two devices or more, all start at once when all are ready; after 3 s those that are ready start. For a text the response " +
					'does not wait for speech: each device is "preparing" until then, and fails with a reason if the conversion fails.',
				maxBytes: maxTargetsBytes,
			},
		),
		status: 202,
		location: "/api/announcements/:id",
		reply: jobId,
		problems: {
			409: "20 announcements are playing.",
			501: "A text requires SPEECH_COMMAND; a URL of another format than WAV requires DECODE_COMMAND.",
			503: "10 texts are waiting for speech.",
		},
	},
	"GET /api/announcements/:id": {
		summary: "Returns the progress of an announcement by device, failures first",
		roles: everyone,
		reply: shownAnnouncement,
	},
	"DELETE /api/announcements/:id": {
		summary: "Stops an announcement on all devices",
		roles: users,
	},
});

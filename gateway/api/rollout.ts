/** Rollouts: plan, status and step of each device, as stored and as shown, and the routes. */

import { chips, deviceId, imageId } from "../../device/protocol/messages.js";
import {
	boolean,
	changeOf,
	either,
	type Infer,
	integer,
	list,
	models,
	object,
	oneOf,
	optional,
	pattern,
	string,
} from "../../device/protocol/schema.js";
import { channelName } from "./channels.js";
import { allOptional, anyObject, strict } from "./json.js";
import { everyone, monitors, viewers } from "./permissions.js";
import { defineRoutes, json } from "./route.js";
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
	typed,
} from "./shapes.js";
import { type DeviceStatus, deviceStatuses, pauseReasons, rolloutStatuses, zeros } from "./statuses.js";
import { maxExpressionLength } from "./tags.js";
import { time } from "./time.js";
import { someDays, timeOfDay } from "./times.js";

export type Counts = Readonly<Record<DeviceStatus, number>>;

/** Image of a plan; without model or chip it fits any. */
const pinnedImage = object({
	model: optional(oneOf(...models)),
	chip: optional(oneOf(...chips)),
	sha256: string(64),
	/** `system.image` of a device that runs the image; absent: unknown. */
	imageId: optional(imageId),
});

/** Number of devices in a plan. */
const deviceNumber = integer(1, 10_000);
const partOrRest = pattern(
	4,
	"^(([1-9]\\d?|100)%|rest)$",
	'a part of the devices, such as "10%", or "rest",',
);
/** ISO 8601 with `Z` or an offset from UTC. */
const isoTime = pattern(
	64,
	"^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d(:\\d\\d(\\.\\d+)?)?(Z|[+-]\\d\\d:\\d\\d)$",
	"a time such as 2026-11-22T20:00:00Z,",
);

const errorThreshold = {
	count: optional(deviceNumber),
	percent: optional(integer(1, 100)),
	minExecuted: described(deviceNumber, "default: 10"),
};
const group = {
	size: described(
		either(deviceNumber, partOrRest),
		'number of devices, a part of all such as "10%", or "rest", for the last group only',
	),
	concurrency: described(
		deviceNumber,
		"maximum number of devices updating or soaking at the same time; default: 20",
	),
	approval: described(boolean(), "pause before this group begins; default: false"),
	soakSeconds: described(
		integer(0, 86_400),
		"time for which a device must run the new firmware before it counts as succeeded; default: 180",
	),
	errorThreshold: described(
		object(errorThreshold),
		"Pauses the rollout after `count` failures, or when `percent` of at least `minExecuted` finished devices have failed; smaller " +
			"groups have lower limits. Default: 2 failures; in the last group 10 %.",
	),
};
const groupSchema = object(group);
export type Group = Infer<typeof groupSchema>;

const window = {
	days: described(someDays, "days on which it begins; default: all"),
	from: timeOfDay,
	to: timeOfDay,
	timeZone: described(string(64), "IANA name; default: the gateway's time zone"),
};
const windowSchema = object(window);
/** Period in which updates may start. If `to` is not after `from`, it ends on the next day. */
export type Window = Infer<typeof windowSchema>;

const requestedFirmware = {
	version: described(string(64), "a version, `latest`, or `custom` for the upload, as in trigger_ota"),
	channel: described(
		optional(channelName),
		"channel whose latest release is installed, instead of a version",
	),
};
const firmware = {
	...requestedFirmware,
	source: oneOf("release", "upload"),
	images: described(
		list(pinnedImage, 100),
		"images that devices may install, fixed when the plan is accepted",
	),
};
const target = described(
	changeOf({
		all: optional(boolean()),
		model: optional(oneOf(...models)),
		tags: described(
			optional(string(maxExpressionLength)),
			"an expression such as `shop-berlin and not beta`",
		),
		devices: optional(list(deviceId, 10_000, 1)),
	}),
	"devices, all, or one or both of model and tags",
);
/** Named devices, all devices, or devices of a model or with tags. */
export type Target =
	| { readonly devices: readonly string[] }
	| { readonly all: true }
	/** At least one of both; `tags` is an expression. */
	| { readonly model?: (typeof models)[number]; readonly tags?: string };

const planFields = {
	standing: described(
		boolean(),
		"Devices join later: new ones, ones that reconnect with an older version, and ones that get matching tags. With a channel the rollout " +
			"restarts with each later release. Not allowed with devices in the target. Default: false.",
	),
	maxAttempts: described(integer(1, 10), "attempts per device; default: 2"),
	allowDowngrade: described(boolean(), "default: false"),
	startsAt: described(isoTime, "default: now"),
	deadline: described(
		optional(isoTime),
		"time at which devices that have not started end as timed_out; default: 30 days after startsAt, none for a standing rollout",
	),
};
const groups = "default: 5 devices, or 5 % if that is more, 5 at a time, then the rest";
const windows = "period in which updates may start; if `to` is not after `from`, it ends on the next day";

/** Plan with all defaults, as stored and shown. rollouts/plan.ts validates what a schema cannot express. */
export const storedPlan = object({
	firmware: described(object(firmware), "version or channel"),
	target,
	groups: described(list(groupSchema, 20, 1), groups),
	window: described(optional(windowSchema), windows),
	...planFields,
});
export interface Plan extends Omit<Infer<typeof storedPlan>, "target"> {
	readonly target: Target;
}

/** Plan as sent by a client. Rejects unknown fields, as they may be misspelled. */
export const planRequest = strict({
	firmware: described(strict(allOptional(requestedFirmware)), "version or channel"),
	target,
	groups: described(
		optional(
			list(
				strict({
					...allOptional(group),
					size: group.size,
					errorThreshold: optional(strict(allOptional(errorThreshold))),
				}),
				20,
				1,
			),
		),
		groups,
	),
	window: described(
		optional(strict({ ...window, ...allOptional({ days: window.days, timeZone: window.timeZone }) })),
		windows,
	),
	...allOptional(planFields),
});

/** Mutable state of a rollout, stored after each change. Times are in milliseconds since 1970. */
export const head = object({
	status: oneOf(...rolloutStatuses),
	pausedBecause: optional(oneOf(...pauseReasons)),
	/** Index of the current group. */
	group: integer(0, 1000),
	/** Index of the last approved group; -1: none. */
	approved: integer(-1, 1000),
	/** Devices and failures of the current group that no longer count after a person resumed the rollout. */
	forgivenExecuted: integer(0, Number.MAX_SAFE_INTEGER),
	forgivenFailures: integer(0, Number.MAX_SAFE_INTEGER),
	/** Number of changes of these fields. */
	revision: integer(1, Number.MAX_SAFE_INTEGER),
	startedAt: optional(time),
	endedAt: optional(time),
});
export type Head = Infer<typeof head>;

/** State of a device in a rollout, stored after each change. */
export const deviceStep = object({
	deviceId,
	status: oneOf(...deviceStatuses),
	/** Time of the latest change of status, in milliseconds since 1970. */
	at: time,
	/** Number of times the update was offered; reset to 0 by `retry`. */
	attempts: integer(0, 1000),
	/** Index of its group; absent until the update is offered. */
	group: optional(integer(0, 1000)),
	/** `startedAt` of the device's latest update before this attempt; absent if there was none. */
	previousJob: optional(time),
	/** Id of the device's latest crash before this attempt; absent if none was known. */
	previousCrash: optional(string(64)),
	/** Reason of a failure or delay. */
	reason: optional(string(1300)),
});
export type DeviceStep = Infer<typeof deviceStep>;

export interface Rollout {
	readonly id: string;
	/** Milliseconds since 1970. */
	readonly createdAt: number;
	/** Plan as sent by the client. */
	readonly asked: unknown;
	readonly plan: Plan;
	readonly head: Head;
	/** Steps by device id, in the order of offers. */
	readonly devices: ReadonlyMap<string, DeviceStep>;
}

export const noCounts: Counts = Object.freeze(zeros(deviceStatuses));

export function countsOf(devices: Iterable<DeviceStep>): Counts {
	const counts = zeros(deviceStatuses);
	for (const { status } of devices) counts[status] += 1;
	return counts;
}

const shownCounts = described(counts(deviceStatuses), "devices by status");
const plan = typed<Plan>(storedPlan);
const rolloutHead = {
	id: text,
	status: oneOf(...rolloutStatuses),
	pausedBecause: nullable(oneOf(...pauseReasons)),
	version: described(text, "a standing rollout proceeds to later releases of its channel"),
	standing: boolean(),
	counts: shownCounts,
	revision: described(
		integer(1, Number.MAX_SAFE_INTEGER),
		"number of changes of status and group, without steps of devices",
	),
	createdAt: dateTime,
	startedAt: nullable(dateTime),
	endedAt: nullable(dateTime),
};
const headShape = closed(rolloutHead);
export type RolloutHead = InferShape<typeof headShape>;

const soakSecondsLeft = nullable(integer(0, 86_400));
const shownRollout = closed({
	...rolloutHead,
	plan: reference({ plan }),
	group: described(count, "index of the current group"),
	groups: array(closed({ size: described(count, "number of devices"), counts: shownCounts })),
	soakSecondsLeft: described(
		soakSecondsLeft,
		"remaining soak time of the last device; null if none is soaking",
	),
	retrying: described(count, "queued devices with another attempt after one that failed or could not begin"),
	retryAt: described(
		nullable(dateTime),
		"time from which the first of them may begin; null if unknown or they are disconnected",
	),
});
export type ShownRollout = InferShape<typeof shownRollout>;

const shownDevice = closed({
	deviceId: text,
	status: described(
		oneOf(...deviceStatuses),
		"Sequence: queued, offered, downloading, rebooting, soaking, succeeded. Other final statuses: failed (no attempts left), rolled_back, " +
			"timed_out (no response for 5 minutes, or the deadline passed), rejected (the firmware does not fit, differs from the plan, " +
			"or would be a downgrade), already_installed, removed (deleted from the gateway), cancelled.",
	),
	at: described(dateTime, "time of the latest change of status"),
	attempts: count,
	group: described(nullable(count), "index of its group; null until the update is offered"),
	reason: described(nullable(text), "reason of a failure, or of another attempt of a queued device"),
	soakSecondsLeft: described(soakSecondsLeft, "remaining soak time; null if not soaking"),
});
export type RolloutDevice = InferShape<typeof shownDevice>;

const preview = closed({
	total: described(count, "devices selected by the plan"),
	away: described(count, "disconnected devices among them"),
	alreadyInstalled: count,
	downgrades: described(count, "devices with a newer version, which are rejected without allowDowngrade"),
	doNotFit: described(count, "devices without a compatible image"),
	busy: described(count, "devices in another active rollout; the plan is rejected if there is one"),
	plan: reference({ plan }),
});
export type Preview = InferShape<typeof preview>;

/** Lower case, as it becomes a file name. */
export const rolloutId = pattern(64, "^[a-z0-9][a-z0-9._-]*$", "lower-case letters, digits, '.', '_' or '-'");
const planBody = json(
	anyObject,
	{ firmware: { version: "1.4.0" }, target: { model: "DEV-1" } },
	{
		documented: reference({ planRequest }),
		description: "A plan as JSON of at most 1 MiB; only `firmware` and `target` are required.",
		// A plan may name 10,000 devices.
		maxBytes: 1 << 20,
	},
);
const revisionHeader = {
	ETag: { ...text, description: "revision", example: '"1"' },
} as const;
const notStored =
	"The change could not be written to disk and is not in effect. With several gateways 503 while NATS is unreachable.";

/** @param conflict describes 409 */
function command<const S extends string, const C extends string>(summary: S, conflict: C) {
	return {
		summary,
		roles: monitors,
		headers: {
			"If-Match": {
				...optional(text),
				description: "expected revision, as an ETag; without it the command applies to any revision",
				example: '"1"',
			},
		},
		reply: shownRollout,
		replyHeaders: revisionHeader,
		problems: {
			409: conflict,
			412: "The revision does not match If-Match.",
			507: notStored,
		},
	} as const;
}

export const rolloutRoutes = defineRoutes("rollouts", {
	"GET /api/rollouts": {
		summary: "Lists rollouts (at most 20), newest first",
		roles: everyone,
		returns: "The rollouts, without their plans.",
		reply: closed({ rollouts: array(headShape) }),
	},
	"POST /api/rollouts/preview": {
		summary: "Validates a plan and counts its devices, without starting a rollout",
		roles: viewers,
		isAudited: false,
		body: planBody,
		reply: preview,
		problems: { 422: "The plan is not valid; `detail` names the field." },
	},
	"GET /api/rollouts/:id": {
		summary: "Returns a rollout with its plan, counts and groups",
		roles: everyone,
		reply: shownRollout,
		replyHeaders: revisionHeader,
	},
	"PUT /api/rollouts/:id": {
		summary: "Starts a rollout; idempotent for the same plan",
		description:
			"The plan is stored with all defaults and the SHA-256 of each image. If there are more than 20 rollouts, the oldest finished one " +
			"is removed.",
		roles: monitors,
		params: { id: described(rolloutId, 'chosen by the client; not "preview"') },
		body: planBody,
		alternatives: { 201: "The rollout is stored, and starts according to its plan." },
		reply: shownRollout,
		replyHeaders: revisionHeader,
		problems: {
			409: "This id has another plan, a device is in another active rollout, or there are 20 active rollouts; `detail` names the reason.",
			422: "The plan is not valid; `detail` names the field.",
			507: notStored,
		},
	},
	"DELETE /api/rollouts/:id": {
		summary: "Removes a finished rollout",
		roles: monitors,
		problems: {
			409: "The rollout is active, or some of its devices are still updating.",
			507: notStored,
		},
	},
	"GET /api/rollouts/:id/devices": {
		summary: "Lists the devices of a rollout",
		roles: everyone,
		query: {
			status: {
				...optional(text),
				description: "only devices with one of these statuses, separated by commas",
				example: "failed,rolled_back",
			},
		},
		reply: closed({ devices: array(shownDevice) }),
	},
	"POST /api/rollouts/:id/pause": command(
		"Pauses a rollout; updates in progress continue",
		"The rollout has finished.",
	),
	"POST /api/rollouts/:id/resume": command(
		"Resumes a paused rollout; failures that paused it no longer count",
		"The rollout has finished, or is waiting for an approval.",
	),
	"POST /api/rollouts/:id/approve": command(
		"Approves the next group",
		"The rollout does not wait for approval.",
	),
	"POST /api/rollouts/:id/cancel": command(
		"Cancels a rollout; updates in progress continue",
		"The rollout has finished.",
	),
	"POST /api/rollouts/:id/retry": command(
		"Retries all devices that failed, were rolled back or timed out",
		"The rollout is canceled, its deadline has passed, or a device is in another active rollout.",
	),
});

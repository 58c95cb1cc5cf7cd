/** A roll-out: its plan, its status, and the step of each device, as they are stored and shown. */

import { chips, deviceId } from "../../device/protocol/messages.js";
import {
	type Infer,
	integer,
	models,
	object,
	oneOf,
	optional,
	string,
} from "../../device/protocol/schema.js";
import { time } from "../storage/time.js";
import { type DeviceStatus, deviceStatuses, pauseReasons, rolloutStatuses, zeros } from "./statuses.js";

export type Counts = Readonly<Record<DeviceStatus, number>>;

/** Part of a plan: an image that devices may get; one without a model or chip fits any. */
export const pinnedImage = object({
	model: optional(oneOf(...models)),
	chip: optional(oneOf(...chips)),
	sha256: string(64),
});
export type PinnedImage = Infer<typeof pinnedImage>;

export interface Group {
	/** A number of devices, a part of all of them such as "10%", or "rest" for the last group. */
	readonly size: number | string;
	/** Slots. */
	readonly concurrency: number;
	/** The roll-out is paused at this number of failures, or at this part of at least `minExecuted` devices. */
	readonly errorThreshold: {
		readonly count?: number;
		/** 1 to 100. */
		readonly percent?: number;
		readonly minExecuted: number;
	};
	/** The roll-out is paused before this group begins. */
	readonly approval: boolean;
	/** How long a device must run the new firmware before it counts as succeeded. */
	readonly soakSeconds: number;
}

export const days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
/** When updates may begin. One that ends at or before its beginning ends on the next day. */
export interface Window {
	/** Of its beginning. */
	readonly days: readonly (typeof days)[number][];
	/** Such as "22:00". */
	readonly from: string;
	readonly to: string;
	/** IANA name. */
	readonly timeZone: string;
}

/** Named devices, or all, or all of a model or with tags. */
export type Target =
	| { readonly devices: readonly string[] }
	| { readonly all: true }
	/** At least one of the two; `tags` is an expression. */
	| { readonly model?: (typeof models)[number]; readonly tags?: string };

export interface Plan {
	readonly firmware: {
		readonly version: string;
		/** Of which `version` is the latest release; absent: the version was named. */
		readonly channel?: string | undefined;
		readonly source: "release" | "upload";
		readonly images: readonly PinnedImage[];
	};
	readonly target: Target;
	/** Whether devices join it later, and with a channel later releases follow. */
	readonly standing: boolean;
	/** At least one; the last has the size "rest". */
	readonly groups: readonly Group[];
	/** Of each device. */
	readonly maxAttempts: number;
	readonly allowDowngrade: boolean;
	/** ISO 8601, as `deadline`: then devices that have not begun end as `timed_out`. */
	readonly startsAt: string;
	/** Absent of a standing one that never ends. */
	readonly deadline?: string;
	readonly window?: Window;
	readonly stopWhen?: {
		/** At least 1.5. The roll-out is paused once the version crashes this many times as often as what the devices ran before. */
		readonly crashRate: number;
	};
}

/** What is stored of a roll-out beside its plan, each time that it changes. Times in milliseconds since 1970. */
export const head = object({
	status: oneOf(...rolloutStatuses),
	pausedBecause: optional(oneOf(...pauseReasons)),
	/** Index of the current group. */
	group: integer(0, 1000),
	/** Index of the last group that was approved; -1: none. */
	approved: integer(-1, 1000),
	/** Devices and failures of the current group that a person has seen and resumed after. */
	forgivenExecuted: integer(0, Number.MAX_SAFE_INTEGER),
	forgivenFailures: integer(0, Number.MAX_SAFE_INTEGER),
	/** Of the version, when a person has resumed after its crashes: `Exposure`. */
	forgivenCrashes: optional(
		object({ count: integer(0, Number.MAX_SAFE_INTEGER), time: integer(0, Number.MAX_SAFE_INTEGER) }),
	),
	/** Counts the changes of these fields. */
	revision: integer(1, Number.MAX_SAFE_INTEGER),
	startedAt: optional(time),
	endedAt: optional(time),
});
export type Head = Infer<typeof head>;

/** What is stored of a device each time that it changes. */
export const deviceStep = object({
	deviceId,
	status: oneOf(...deviceStatuses),
	/** Milliseconds since 1970; when it reached this status. */
	at: time,
	/** How often it was offered the update; 0 again after `retry`. */
	attempts: integer(0, 1000),
	/** Index; absent until it was offered. */
	group: optional(integer(0, 1000)),
	/** `startedAt` of the device's latest update before this attempt; absent if there was none. */
	previousJob: optional(time),
	/** That it ran when it was offered the update. */
	previousVersion: optional(string(32)),
	/** Why it failed or waits. */
	reason: optional(string(1300)),
});
export type DeviceStep = Infer<typeof deviceStep>;

export interface Rollout {
	readonly id: string;
	/** Milliseconds since 1970. */
	readonly createdAt: number;
	/** The plan as the client sent it. */
	readonly asked: unknown;
	readonly plan: Plan;
	readonly head: Head;
	/** By id, in the order in which they are offered it. */
	readonly devices: ReadonlyMap<string, DeviceStep>;
}

export const noCounts: Counts = Object.freeze(zeros(deviceStatuses));

export function countsOf(devices: Iterable<DeviceStep>): Counts {
	const counts = zeros(deviceStatuses);
	for (const { status } of devices) counts[status] += 1;
	return counts;
}

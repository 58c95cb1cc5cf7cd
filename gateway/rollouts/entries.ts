/** The entries of a rollout in the log: its plan, its devices in their order, then each change. */

import { isDeepStrictEqual } from "node:util";
import { deviceId } from "../../device/protocol/messages.js";
import {
	boolean,
	integer,
	list,
	matches,
	object,
	oneOf,
	optional,
	pattern,
	string,
} from "../../device/protocol/schema.js";
import { deviceStep, head, type Rollout } from "../api/rollout.js";
import { time } from "../api/time.js";
import { queued } from "./device-step.js";
import type { Change } from "./machine.js";

/** Lower case, as it names a file. */
export const rolloutId = pattern(64, "^[a-z0-9][a-z0-9._-]*$", "lower-case letters, digits, '.', '_' or '-'");

/** The gateway that has appended it; absent if that is alone. */
const by = optional(string(64));
/**
 * Begins a rollout: entries before it are of another one that had this id, or of an earlier release. With a head it is
 * whole, without devices.
 */
export const planEntry = object({
	schema: integer(1, 1),
	createdAt: time,
	plan: object({}),
	head: optional(head),
	by,
});
/** Devices in their order. */
export const queueEntry = object({ at: time, ids: list(deviceId, 5_000) });
/** A rollout is shown once it has a head. */
export const stepsEntry = object({ head: optional(head), devices: list(deviceStep, 500), by });
export const claimedEntry = object({ claimed: boolean(), by });
export const removedEntry = object({ removed: boolean(), by });

const crashRateEntry = object({ head: object({ pausedBecause: oneOf("crashes") }) });

/** An entry that was stored when crashes per hour could pause a rollout: it stays paused, as by failures. */
export function withoutCrashRate(entry: unknown): unknown {
	if (!matches(crashRateEntry, entry)) return entry;
	return { ...entry, head: { ...entry.head, pausedBecause: "failures" } };
}

/** An entry is at most 1 MB. */
const stepsAtOnce = 500;
const idsAtOnce = 5_000;

/** All of a rollout; its head is the last. */
export function entriesOf({ createdAt, asked, plan, head, devices }: Rollout): readonly object[] {
	const all = [...devices.values()];
	const at = all[0]?.at ?? createdAt;
	const moved = all.filter((step) => !isDeepStrictEqual(step, queued(step.deviceId, at)));
	return [
		{ schema: 1, createdAt, plan, asked },
		...inParts(all, idsAtOnce).map((part) => ({ at, ids: part.map(({ deviceId }) => deviceId) })),
		...changeEntries({ head, devices: moved }),
	];
}

/** The head is in the last, so that a rollout is not over before its devices are. */
export function changeEntries({ head, devices }: Change): readonly object[] {
	const parts = inParts(devices, stepsAtOnce);
	return parts.map((part, index) => ({ ...(index === parts.length - 1 && head && { head }), devices: part }));
}

/** At least one part. */
function inParts<T>(list: readonly T[], most: number): readonly (readonly T[])[] {
	const starts = Array.from({ length: Math.max(1, Math.ceil(list.length / most)) }, (_, at) => at * most);
	return starts.map((start) => list.slice(start, start + most));
}

/** Log entries of a rollout: its plan, its devices in order, then each change. */

import { isDeepStrictEqual } from "node:util";
import { deviceId } from "../../device/protocol/messages.js";
import { boolean, integer, list, object, optional } from "../../device/protocol/schema.js";
import { deviceStep, head, type Rollout } from "../api/rollout.js";
import { time } from "../api/time.js";
import { queued } from "./device-step.js";
import type { Change } from "./machine.js";

/**
 * First entry of a rollout. Entries before it belong to an earlier rollout with this id or to an earlier
 * release. With a head it is complete and has no devices.
 */
export const planEntry = object({
	schema: integer(1, 1),
	createdAt: time,
	plan: object({}),
	head: optional(head),
});
/** Devices in order. */
export const queueEntry = object({ at: time, ids: list(deviceId, 5_000) });
/** Changed steps. A rollout is listed once it has a head. */
export const stepsEntry = object({ head: optional(head), devices: list(deviceStep, 500) });
export const removedEntry = object({ removed: boolean() });

/** Keeps an entry below 1 MB. */
const stepsAtOnce = 500;
const idsAtOnce = 5_000;

/** Returns all entries of a rollout, with its head in the last; without devices, a single one. */
export function entriesOf({ createdAt, asked, plan, head, devices }: Rollout): readonly object[] {
	const all = [...devices.values()];
	const first = { schema: 1, createdAt, plan, asked };
	if (all.length === 0) return [{ ...first, head }];
	const at = all[0]?.at ?? createdAt;
	const moved = all.filter((step) => !isDeepStrictEqual(step, queued(step.deviceId, at)));
	return [
		first,
		...inChunks(all, idsAtOnce).map((part) => ({ at, ids: part.map(({ deviceId }) => deviceId) })),
		...changeEntries({ head, devices: moved }),
	];
}

/** Splits a change. The last entry has the head, so that a rollout does not finish before its devices. */
export function changeEntries({ head, devices }: Change): readonly object[] {
	const parts = inChunks(devices, stepsAtOnce);
	return parts.map((part, index) => ({ ...(index === parts.length - 1 && head && { head }), devices: part }));
}

function inChunks<T>(list: readonly T[], most: number): readonly (readonly T[])[] {
	const starts = Array.from({ length: Math.max(1, Math.ceil(list.length / most)) }, (_, at) => at * most);
	return starts.map((start) => list.slice(start, start + most));
}

/**
 * An update of many devices, as a function from what was known and what was heard to what is known now: a few at a time,
 * no new one after too many have failed, and what has not begun can be called off. It asks no socket and no clock.
 */

import type { OtaMetadata } from "./messages.js";
import { isUpdating } from "./words.js";

export type ItemStatus =
	/** Not begun. */
	| "waiting"
	/** The gateway was asked and has not answered. */
	| "asked"
	/** The device is on it. */
	| "running"
	| "updated"
	| "failed"
	| "rolled_back"
	/** The gateway would not begin it. */
	| "refused"
	/** Called off before it began. */
	| "cancelled";

export interface Item {
	readonly key: string;
	readonly status: ItemStatus;
	/** 0 to 100; it only ever grows. */
	readonly percent: number;
	/** Why it did not become `updated`; null otherwise. */
	readonly reason: string | null;
}

export interface Rollout {
	/** What `trigger_ota` is asked for. */
	readonly selector: string;
	readonly atATime: number;
	/** After so many failed or rolled back no other begins. */
	readonly stopAfter: number;
	readonly items: readonly Item[];
}

export interface RolloutPlan {
	readonly selector: string;
	readonly keys: readonly string[];
	readonly atATime: number;
	readonly stopAfter: number;
}

export function planRollout({ selector, keys, atATime, stopAfter }: RolloutPlan): Rollout {
	const items = [...new Set(keys)].map(
		(key) => ({ key, status: "waiting", percent: 0, reason: null }) as const,
	);
	return { selector, atATime, stopAfter, items };
}

/** Which devices to ask for now: mark each with `asked`. */
export function nextKeys(rollout: Rollout): readonly string[] {
	const free = rollout.atATime - count(rollout, "asked", "running");
	const waiting = rollout.items.filter(({ status }) => status === "waiting");
	return waiting.slice(0, Math.max(0, free)).map(({ key }) => key);
}

export function asked(rollout: Rollout, key: string): Rollout {
	return change(rollout, key, ["waiting"], () => ({ status: "asked" }));
}

/** The gateway took it on. */
export function begun(rollout: Rollout, key: string): Rollout {
	return change(rollout, key, ["asked"], () => ({ status: "running" }));
}

/** The gateway would not begin it; that is no failure of the firmware, so it does not count as one. */
export function refused(rollout: Rollout, key: string, reason: string): Rollout {
	return change(rollout, key, ["asked"], () => ({ status: "refused", reason }));
}

/** The connection was lost before the gateway answered; what the device is at, the next snapshot says. */
export function unanswered(rollout: Rollout, key: string, metadata: OtaMetadata | undefined): Rollout {
	const status = metadata && isUpdating(metadata) ? "running" : "waiting";
	return change(rollout, key, ["asked"], () => ({ status }));
}

/** Takes in how a device's update stands. @param metadata undefined: the gateway does not know the device any more */
export function heard(rollout: Rollout, key: string, metadata: OtaMetadata | undefined): Rollout {
	const next = change(rollout, key, ["running"], ({ percent }) => advance(percent, metadata));
	return isStopped(next) ? callOff(next, stoppedReason(next)) : next;
}

/** Calls off what has not begun. */
export function cancel(rollout: Rollout): Rollout {
	return callOff(rollout, "Cancelled before it began.");
}

/** Whether so many have failed that no other begins. */
export function isStopped(rollout: Rollout): boolean {
	return count(rollout, "failed", "rolled_back") >= rollout.stopAfter;
}

/** Whether nothing of it is under way or to come. */
export function isOver(rollout: Rollout): boolean {
	return count(rollout, "waiting", "asked", "running") === 0;
}

/** How many devices stand at one of these. */
export function count({ items }: Rollout, ...statuses: readonly ItemStatus[]): number {
	return items.filter(({ status }) => statuses.includes(status)).length;
}

/** 0 to 100, over all devices: one that has ended counts in full, however it ended. */
export function overallPercent({ items }: Rollout): number {
	const done = items.map(({ status, percent }) =>
		status === "waiting" || status === "asked" ? 0 : status === "running" ? percent : 100,
	);
	return items.length === 0 ? 100 : Math.floor(done.reduce((sum, part) => sum + part, 0) / items.length);
}

function advance(percent: number, metadata: OtaMetadata | undefined): Partial<Item> {
	if (!metadata) return { status: "failed", reason: "The device was forgotten while it was away." };
	const { otaStatus, otaPercent, otaReason } = metadata;
	switch (otaStatus) {
		case "updated":
			return { status: "updated", percent: 100 };
		case "failed":
		case "rolled_back":
			return { status: otaStatus, reason: otaReason };
		default:
			return { percent: Math.max(percent, otaPercent ?? 0) };
	}
}

function callOff(rollout: Rollout, reason: string): Rollout {
	if (count(rollout, "waiting") === 0) return rollout;
	const items = rollout.items.map((item) =>
		item.status === "waiting" ? ({ ...item, status: "cancelled", reason } as const) : item,
	);
	return { ...rollout, items };
}

function stoppedReason(rollout: Rollout): string {
	const failures = count(rollout, "failed", "rolled_back");
	return `Not begun, since ${failures === 1 ? "an update" : `${failures} updates`} failed.`;
}

function change(
	rollout: Rollout,
	key: string,
	from: readonly ItemStatus[],
	to: (item: Item) => Partial<Item>,
): Rollout {
	const item = rollout.items.find((one) => one.key === key);
	if (!item || !from.includes(item.status)) return rollout;
	const changed = { ...item, ...to(item) };
	return { ...rollout, items: rollout.items.map((one) => (one === item ? changed : one)) };
}

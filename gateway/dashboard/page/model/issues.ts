/** Kinds of issues, and which devices have one. */

import type { Entry } from "../../../api/client/fleet.js";
import type { DeviceIssueKind } from "../../../api/issues.js";

export type IssueKind =
	| DeviceIssueKind
	| "gateway"
	| "rollout_paused"
	| "rejected"
	| "webhook_ended"
	| "schedule_failed";

/** In display order. */
export const issueLabels: Readonly<Record<IssueKind, string>> = {
	gateway: "Gateway",
	crashed: "Crashed",
	rolled_back: "Rolled back",
	update_failed: "Update failed",
	rollout_paused: "Rollout paused",
	safe_mode: "Safe mode",
	duplicate_id: "Duplicate id",
	often_restarted: "Often restarted",
	faulty: "Hardware fault",
	away: "Offline for more than a day",
	rejected: "Rejected",
	webhook_ended: "Webhook disabled",
	schedule_failed: "Schedule failed",
	weak_signal: "Weak signal",
};

/** Whether a device has an issue of this kind that was not dismissed. */
export function isUnseen({ attention }: Entry, kind: DeviceIssueKind): boolean {
	return attention.some((issue) => issue.kind === kind && !issue.seen);
}

/** Whether the fault of a device is that of its clock. */
export function hasWrongClock({ attention }: Entry): boolean {
	return attention.some(({ kind, seen, reason }) => !seen && kind === "faulty" && isClockFault(reason));
}

export function isClockFault(reason = ""): boolean {
	return /^the device's clock/i.test(reason);
}

/** Whether a device has a fault that was not dismissed. */
export function hasFault({ attention }: Entry): boolean {
	return attention.some(({ kind, seen }) => !seen && kind !== "away" && kind !== "weak_signal");
}

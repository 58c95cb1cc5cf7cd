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

interface IssueType {
	readonly label: string;
	readonly isBad?: boolean;
	/** Whether it requires no action, and is not counted. */
	readonly isHint?: boolean;
	/** Link to what resolves it, if it is the same for all. */
	readonly link?: readonly [text: string, href: string];
}

/** In display order. */
export const issueTypes: Readonly<Record<IssueKind, IssueType>> = {
	gateway: { label: "Gateway", isBad: true },
	crashed: { label: "Crashed", isBad: true },
	rolled_back: { label: "Rolled back", isBad: true },
	update_failed: { label: "Update failed", isBad: true },
	rollout_paused: { label: "Rollout paused" },
	safe_mode: { label: "Safe mode" },
	duplicate_id: { label: "Duplicate id" },
	often_restarted: { label: "Often restarted" },
	faulty: { label: "Hardware fault", isBad: true },
	away: { label: "Offline for more than a day", link: ["Show devices", "#/?state=away&sort=heard"] },
	rejected: { label: "Rejected" },
	webhook_ended: { label: "Webhook disabled", link: ["Show webhooks", "#/settings"] },
	schedule_failed: { label: "Schedule failed", isBad: true, link: ["Show schedules", "#/schedules"] },
	weak_signal: { label: "Weak signal", isHint: true, link: ["Show Wi-Fi", "#/settings/wifi"] },
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

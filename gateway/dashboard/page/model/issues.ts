/** Issues of devices, and rejections of the gateway, grouped by cause. */

import { keysOf } from "../../../../device/protocol/schema.js";
import type { Entry } from "../../../api/client/fleet.js";
import { sentence } from "../../../api/client/words.js";
import type { CrashCause, CrashList } from "../../../api/crash-causes.js";
import type { ListedRejection } from "../../../api/device.js";
import type { DeviceIssue, DeviceIssueKind } from "../../../api/issues.js";
import { resetText } from "../../../api/statuses.js";
import { crashWords, lookUp } from "./health-text.js";

export type IssueKind = DeviceIssueKind | "refused" | "webhook_ended" | "schedule_failed" | "crash_new";

/** In display order. */
export const issueLabels: Readonly<Record<IssueKind, string>> = {
	crashed: "Crashed",
	crash_new: "New crash",
	rolled_back: "Rolled back",
	update_failed: "Update failed",
	safe_mode: "Safe mode",
	often_restarted: "Often restarted",
	faulty: "Hardware fault",
	away: "Away for more than a day",
	refused: "Rejected",
	webhook_ended: "Webhook disabled",
	schedule_failed: "Schedule failed",
	weak_signal: "Weak signal",
};

/** Issue of one device or rejection. */
export interface Issue {
	/** Id of the device or of the rejection. */
	readonly id: string;
	/** Undefined if the rejection concerns no known device. */
	readonly entry: Entry | undefined;
	/** Id by which the issue is dismissed, if it differs from `id`. */
	readonly mark?: string;
	/** ISO 8601; null if unknown, such as before the start of the gateway. */
	readonly since: string | null;
	readonly seen: boolean;
	readonly count: number;
	readonly rejection?: ListedRejection;
}

/** Issues with the same cause, handled together. */
export interface IssueGroup {
	readonly kind: IssueKind;
	/** Sentence. */
	readonly why: string;
	/** At least one, the latest first; either all are dismissed or none. */
	readonly issues: readonly Issue[];
	readonly seen: boolean;
	/** Excluded from the count, since it requires no action. */
	readonly isHint: boolean;
}

/** Whether a device has an issue of this kind that was not dismissed. */
export function isUnseen({ attention }: Entry, kind: DeviceIssueKind): boolean {
	return attention.some((one) => one.kind === kind && !one.seen);
}

const kindOf: Readonly<Record<ListedRejection["what"], IssueKind>> = {
	connection: "refused",
	report: "refused",
	webhook: "webhook_ended",
	schedule: "schedule_failed",
};
const kinds = keysOf(issueLabels);
/** A new cause is not counted: its devices have their own issue `crashed`. */
const hints: readonly IssueKind[] = ["weak_signal", "crash_new"];
const dayMs = 24 * 60 * 60_000;

/** @param now of the gateway's clock, in ms. @returns the groups in display order */
export function groupIssues(
	entries: readonly Entry[],
	refusals: readonly ListedRejection[],
	crashes: Pick<CrashList, "causes">,
	now: number,
): readonly IssueGroup[] {
	const groups = new Map<string, IssueGroup & { readonly issues: Issue[] }>();
	const add = (kind: IssueKind, why: string, issue: Issue) => {
		const { seen } = issue;
		const key = `${kind} ${seen} ${why}`;
		const group = groups.get(key) ?? { kind, why, issues: [], seen, isHint: hints.includes(kind) };
		group.issues.push(issue);
		groups.set(key, group);
	};
	const byId = new Map(entries.map((entry) => [entry.key, entry]));
	for (const entry of entries)
		for (const one of entry.attention)
			if (one.kind !== "away" || isOld(one.since, now))
				add(one.kind, whyOf(one, entry), { count: 1, ...one, id: entry.key, entry });
	for (const rejection of refusals) {
		const { what, deviceId, lastAt: since, reason } = rejection;
		const entry = byId.get(deviceId ?? "");
		const kind = kindOf[what];
		// Rejections expire after a day, or once the device is connected.
		if (kind === "refused" && isOld(since, now)) continue;
		if (what === "connection" && entry?.session.connected) continue;
		const why = `${what === "report" ? "Report dropped: " : ""}${sentence(reason)}`;
		add(kind, why, { ...rejection, since, entry, rejection });
	}
	for (const cause of crashes.causes)
		for (const { deviceId: id, at } of cause.seen ? [] : cause.samples)
			add("crash_new", whereText(cause), {
				...{ id, entry: byId.get(id), mark: cause.id, since: at, seen: false, count: 1 },
			});
	const rank = ({ kind }: IssueGroup) => kinds.indexOf(kind);
	const time = ({ since }: Issue) => Date.parse(since ?? "") || 0;
	for (const { issues } of groups.values()) issues.sort((a, b) => time(b) - time(a));
	return [...groups.values()].sort((a, b) => rank(a) - rank(b));
}

/** Sentence, equal for all devices with this cause. */
function whyOf(
	{ kind, reason = "" }: DeviceIssue,
	{ session: { firmwareVersion, metadata } }: Entry,
): string {
	switch (kind) {
		case "crashed":
			return `${lookUp(crashWords, reason)} on ${firmwareVersion}.`;
		case "rolled_back":
		case "update_failed":
			return `Update to ${metadata.otaVersion ?? "an unknown version"}: ${sentence(metadata.otaReason ?? "no reason is known")}`;
		case "safe_mode":
			return "Three failed starts. Running without sound, haptics and sensors.";
		case "often_restarted":
			return `Restarted at least 3× in 24 h. Last: ${resetText(reason)}.`;
		case "faulty":
			return sentence(reason);
		case "away":
			return "Not connected for more than a day.";
		case "weak_signal":
			return "Audio may drop out.";
	}
}

/** Message and first stack frame: "TypeError: no face #, in onButton (device/rules.ts)." */
export function whereText({
	kind,
	message,
	frames,
}: Pick<CrashCause, "kind" | "message" | "frames">): string {
	const what = message.trim() || crashWords[kind];
	return frames[0] === undefined ? sentence(what) : `${what}, in ${frames[0]}.`;
}

function isOld(since: string | null, now: number): boolean {
	return since === null || now - Date.parse(since) > dayMs;
}

/** Issues by cause: of devices, rejections, crashes, rollouts and the gateway. */

import { keysOf } from "../../../../device/protocol/schema.js";
import type { Entry } from "../../../api/client/fleet.js";
import { sentence } from "../../../api/client/words.js";
import type { CrashCause } from "../../../api/crash-causes.js";
import type { ListedRejection } from "../../../api/device.js";
import type { DeviceIssue } from "../../../api/issues.js";
import type { RolloutHead } from "../../../api/rollout.js";
import { resetText } from "../../../api/statuses.js";
import { crashWords, lookUp } from "./health-text.js";
import { type IssueKind, issueTypes } from "./issues.js";

/** Issue of one device or rejection. */
export interface Issue {
	/** Id of the device or of the rejection. */
	readonly id: string;
	/** Undefined if the rejection concerns no known device. */
	readonly entry: Entry | undefined;
	/** ISO 8601; null if unknown, such as before the start of the gateway. */
	readonly since: string | null;
	readonly seen: boolean;
	readonly count: number;
	readonly rejection?: ListedRejection;
}

/** Issues with the same cause, shown as one row. */
export interface IssueRow {
	/** Stable while the cause is the same. */
	readonly key: string;
	readonly kind: IssueKind;
	/** Sentence. */
	readonly why: string;
	/** The latest first. */
	readonly issues: readonly Issue[];
	readonly cause?: CrashCause;
	readonly rollout?: RolloutHead;
	readonly seen: boolean;
}

const kindOf: Readonly<Record<ListedRejection["what"], IssueKind>> = {
	connection: "rejected",
	report: "rejected",
	webhook: "webhook_ended",
	schedule: "schedule_failed",
};
const kinds = keysOf(issueTypes);
const dayMs = 24 * 60 * 60_000;

export interface IssueSources {
	readonly entries: readonly Entry[];
	readonly rejections?: readonly ListedRejection[] | undefined;
	readonly causes?: readonly CrashCause[] | undefined;
	readonly rollouts?: readonly RolloutHead[] | undefined;
	/** Sentences about the gateway. */
	readonly problems?: readonly string[] | undefined;
}

/** @param now of the gateway's clock, in ms. @returns the rows in display order */
export function groupIssues(sources: IssueSources, now: number): readonly IssueRow[] {
	const { entries, rejections = [], causes = [], rollouts = [], problems = [] } = sources;
	const rows = new Map<string, IssueRow & { readonly issues: Issue[] }>();
	const add = (kind: IssueKind, why: string, issue: Issue) => {
		const { seen } = issue;
		const key = `${kind} ${seen} ${why}`;
		const row = rows.get(key) ?? { key, kind, why, issues: [], seen };
		row.issues.push(issue);
		rows.set(key, row);
	};
	const byId = new Map(entries.map((entry) => [entry.key, entry]));
	const crashed = new Map<CrashCause, Issue[]>(causes.map((cause) => [cause, []]));
	for (const entry of entries)
		for (const concern of entry.attention) {
			if (concern.kind === "away" && !isOld(concern.since, now)) continue;
			const issue = { count: 1, ...concern, id: entry.key, entry };
			const cause = concern.kind === "crashed" && causes.find((known) => isCauseOf(known, concern, entry));
			if (cause) crashed.get(cause)?.push(issue);
			else add(concern.kind, whyOf(concern, entry), issue);
		}
	for (const rejection of rejections) {
		const { what, deviceId, lastAt: since, reason } = rejection;
		const entry = byId.get(deviceId ?? "");
		const kind = kindOf[what];
		// Rejections expire after a day, or once the device is connected.
		if (kind === "rejected" && isOld(since, now)) continue;
		if (what === "connection" && entry?.session.connected) continue;
		const why = `${what === "report" ? "Report dropped: " : ""}${sentence(reason)}`;
		add(kind, why, { ...rejection, since, entry, rejection });
	}
	const others: IssueRow[] = [...crashed].map(([cause, latest]) => {
		// Crashes of another version, or followed by a crash of another cause.
		const earlier = cause.samples
			.filter(({ deviceId }) => !latest.some(({ id }) => id === deviceId))
			.map(({ deviceId: id, at: since }) => ({ id, entry: byId.get(id), since, seen: true, count: 1 }));
		return {
			key: `crash ${cause.id}`,
			kind: "crashed",
			why: whereText(cause),
			issues: [...latest, ...earlier],
			cause,
			seen: latest.length > 0 ? latest.every(({ seen }) => seen) : cause.seen,
		};
	});
	const single = { issues: [], seen: false };
	for (const rollout of rollouts)
		if (rollout.status === "paused")
			others.push({ ...single, key: `rollout ${rollout.id}`, kind: "rollout_paused", why: "", rollout });
	for (const why of problems) others.push({ ...single, key: why, kind: "gateway", why });
	const rank = ({ kind }: IssueRow) => kinds.indexOf(kind);
	const time = ({ since }: Issue) => Date.parse(since ?? "") || 0;
	for (const { issues } of rows.values()) issues.sort((a, b) => time(b) - time(a));
	return [...others, ...rows.values()].sort((a, b) => rank(a) - rank(b));
}

/** Whether the latest crash of a device has this cause. Devices beyond the samples are matched by type and version. */
function isCauseOf(cause: CrashCause, crash: DeviceIssue, entry: Entry): boolean {
	const { samples, deviceCount, kind, versions } = cause;
	if (samples.some(({ deviceId, at }) => deviceId === entry.key && at === crash.since)) return true;
	const { firmwareVersion } = entry.session;
	return (
		deviceCount > samples.length &&
		kind === crash.reason &&
		versions.some(({ version }) => version === firmwareVersion)
	);
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
		case "duplicate_id":
		case "faulty":
			return sentence(reason);
		case "away":
			return "Offline for more than a day.";
		case "weak_signal":
			return "Audio may drop out.";
	}
}

/** Message and first stack frame: "TypeError: no face #, in onButton (device/rules.ts)." */
function whereText({ kind, message, frames }: CrashCause): string {
	const what = message.trim() || crashWords[kind];
	return frames[0] === undefined ? sentence(what) : `${what}, in ${frames[0]}.`;
}

function isOld(since: string | null, now: number): boolean {
	return since === null || now - Date.parse(since) > dayMs;
}

/** Texts of issues: title, second line and details. */

import { stateText } from "../../../api/client/rollout.js";
import { plural } from "../../../api/client/words.js";
import type { CrashCause } from "../../../api/crash-causes.js";
import { nameOf } from "./filter.js";
import { crashWords } from "./health-text.js";
import type { Issue, IssueRow } from "./issue-rows.js";
import { isClockFault, issueTypes } from "./issues.js";

/** "TypeError in onButton", "Update to 1.4.0 failed" */
export function titleOf({ kind, why, cause, rollout, issues: [first] }: IssueRow): string {
	const version = first?.entry?.session.metadata.otaVersion;
	switch (kind) {
		case "crashed":
			return cause ? crashTitle(cause) : why.replace(/\.$/, "");
		case "rolled_back":
		case "update_failed":
			return version
				? `Update to ${version} ${kind === "update_failed" ? "failed" : "rolled back"}`
				: issueTypes[kind].label;
		case "rollout_paused":
			return `Rollout of ${rollout?.version} paused`;
		case "faulty":
			if (isClockFault(why)) return "Wrong clock";
			return /touch/i.test(why) ? "Touch fault" : "Speaker fault";
		case "gateway":
			return why;
		default:
			return issueTypes[kind].label;
	}
}

/** "New crash · 9 devices · Mainz · 1.4.0" */
export function detailOf(row: IssueRow): string {
	const { kind, why, issues, cause, rollout } = row;
	if (rollout) return stateText(rollout);
	if (kind === "gateway") return issueTypes[kind].label;
	const rooms = new Set(issues.flatMap(({ entry }) => entry?.session.room ?? []));
	const versions = cause?.versions.flatMap(({ version }) => version ?? []) ?? [];
	return [
		cause && !cause.seen && "New crash",
		subjectOf(row),
		rooms.size > 1 ? plural(rooms.size, "room") : [...rooms].find((room) => room !== subjectOf(row)),
		versions.length > 2 ? plural(versions.length, "version") : versions.join(", "),
		["rejected", "webhook_ended", "schedule_failed"].includes(kind) && why.replace(/\.$/, ""),
	]
		.filter(Boolean)
		.join(" · ");
}

/** Name of the only device, or the number of devices. */
export function subjectOf({ issues, cause }: IssueRow): string {
	const count = Math.max(issues.length, cause?.deviceCount ?? 0);
	const [first] = issues;
	return count === 1 && first ? issueName(first) : plural(count, "device");
}

export function issueName({ id, entry, rejection }: Issue): string {
	if (entry) return nameOf(entry);
	if (!rejection) return id;
	const { what, remoteAddress, deviceId } = rejection;
	return what === "webhook" || what === "schedule"
		? remoteAddress
		: (deviceId ?? `Unnamed device at ${remoteAddress}`);
}

/** "TypeError in onButton", "i2s write timed out" */
export function crashTitle({ kind, message, frames: [frame] }: CrashCause): string {
	const text = message.trim() || crashWords[kind];
	return frame === undefined ? text : `${text.replace(/^(\w+): .*/s, "$1")} in ${frame.replace(/ \(.*/, "")}`;
}

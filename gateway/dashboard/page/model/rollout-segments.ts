/** Segments of a rollout's progress: device statuses that mean the same to a person. */

import { type Counts, sum } from "../../../api/client/rollout.js";
import { type DeviceStatus, failureStatuses } from "../../../api/statuses.js";

export interface Segment {
	readonly name: string;
	/** Name of its color. */
	readonly tone: "done" | "watching" | "updating" | "retrying" | "failed" | "off" | "waiting";
	readonly statuses: readonly DeviceStatus[];
	readonly count: number;
}

const segments: readonly Omit<Segment, "count">[] = [
	{ name: "updated", tone: "done", statuses: ["succeeded"] },
	{ name: "already up to date", tone: "done", statuses: ["already_installed"] },
	{ name: "watching", tone: "watching", statuses: ["soaking"] },
	{ name: "updating", tone: "updating", statuses: ["offered", "downloading", "rebooting"] },
	{ name: "retrying", tone: "retrying", statuses: ["queued"] },
	{ name: "failed", tone: "failed", statuses: failureStatuses },
	{ name: "rejected", tone: "off", statuses: ["rejected"] },
	{ name: "forgotten", tone: "off", statuses: ["removed"] },
	{ name: "not started", tone: "off", statuses: ["cancelled"] },
	{ name: "waiting", tone: "waiting", statuses: ["queued"] },
];

/**
 * Lists the segments with at least one device.
 *
 * @param retrying number of queued devices that wait for another attempt
 */
export function segmentsOf(counts: Counts, retrying = 0): readonly Segment[] {
	const retries = Math.min(retrying, counts.queued);
	const countOf = ({ tone, statuses }: Omit<Segment, "count">) => {
		if (tone === "retrying") return retries;
		return sum(counts, statuses) - (tone === "waiting" ? retries : 0);
	};
	return segments
		.map((segment) => ({ ...segment, count: countOf(segment) }))
		.filter(({ count }) => count > 0);
}

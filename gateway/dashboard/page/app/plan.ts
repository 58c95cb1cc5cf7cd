/** Changes of many devices with one request each, such as tokens, rooms and removal. This page sends a few at a time. */

import { messageOf } from "../../../../device/message-of.js";
import type { CommandState } from "../../../api/statuses.js";
import { commandKind, Job } from "../model/job.js";

export interface Plan {
	/** For example "New tokens". */
	readonly title: string;
	readonly keys: readonly string[];
	/** Undoes the change of one device. */
	readonly undo?: (key: string) => Promise<unknown>;
	/** Number of concurrent changes; default: 4. */
	readonly atATime?: number;
	/** Skips the remaining devices after the first failure. */
	readonly stopsAtFailure?: boolean;
	/** Changes one device. Rejects with the reason of a failure. */
	readonly change: (key: string) => Promise<unknown>;
}

/** Starts a plan. @param onChanged called after each step */
export function runPlan(plan: Plan, onChanged: () => void): Job {
	const { title, keys, atATime = 4 } = plan;
	const waiting = keys[Symbol.iterator]();
	const put = (some: Iterable<string>, state: CommandState, reason: string | null = null) => {
		const at = new Date().toISOString();
		job.merge(Array.from(some, (deviceId) => ({ deviceId, state, reason, at })));
		onChanged();
	};
	const job: Job = new Job({
		title,
		kind: commandKind,
		createdAt: new Date().toISOString(),
		cancel: () => put(waiting, "cancelled", "Canceled."),
		isOfPage: true,
	});
	put(keys, "waiting");
	const work = async () => {
		for (const key of waiting) {
			put([key], "asked");
			const reason = await plan.change(key).then(() => null, messageOf);
			put([key], reason === null ? "done" : "failed", reason);
			if (reason !== null && plan.stopsAtFailure)
				put(waiting, "cancelled", "Skipped: another device failed.");
		}
	};
	for (let place = 0; place < atATime; place++) void work();
	return job;
}

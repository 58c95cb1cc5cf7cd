/** User commands to a rollout, as a pure function. */

import type { Rollout } from "../api/rollout.js";
import { failureStatuses, isOneOf, isOver } from "../api/statuses.js";
import { queued, type Timing, withStatus } from "./device-step.js";
import { type Change, resultsOf, updateHead } from "./machine.js";

export const rolloutCommands = ["pause", "resume", "approve", "cancel", "retry"] as const;
export type RolloutCommand = (typeof rolloutCommands)[number];

/** @returns the change, an empty one if there is nothing to do, or the reason for a rejection */
export function executeCommand(
	rollout: Rollout,
	command: RolloutCommand,
	{ now, isLate }: Timing,
): Change | string {
	const { head } = rollout;
	const { status, pausedBecause, group, approved } = head;
	const nothing: Change = { devices: [] };
	const resumed = head.startedAt === undefined ? "scheduled" : "running";
	switch (command) {
		case "pause":
			if (isOver(head)) return `The rollout is ${status}.`;
			return status === "paused"
				? nothing
				: { head: updateHead(head, { status: "paused", pausedBecause: "operator" }), devices: [] };
		case "resume": {
			if (isOver(head)) return `The rollout is ${status}.`;
			if (pausedBecause === "approval") return "The rollout waits for approval. Approve it instead.";
			if (status !== "paused") return nothing;
			const { executed, failures } = resultsOf(rollout);
			const forgiven = { forgivenExecuted: executed, forgivenFailures: failures };
			return {
				head: updateHead(head, {
					status: resumed,
					...(pausedBecause === "failures" && forgiven),
				}),
				devices: [],
			};
		}
		case "approve":
			if (pausedBecause === "approval")
				return { head: updateHead(head, { status: "running", approved: group }), devices: [] };
			return approved === group ? nothing : "The rollout does not wait for approval.";
		case "cancel": {
			if (status === "finished") return "The rollout is finished.";
			if (status === "cancelled") return nothing;
			const waiting = [...rollout.devices.values()].filter((step) => step.status === "queued");
			const devices = waiting.map((step) => withStatus(step, "cancelled", now));
			return { head: updateHead(head, { status: "cancelled", endedAt: now }), devices };
		}
		case "retry": {
			if (status === "cancelled") return "The rollout is cancelled.";
			if (isLate) return "The deadline of the rollout has passed. Create a new rollout.";
			const failed = [...rollout.devices.values()].filter((step) => isOneOf(failureStatuses, step.status));
			if (failed.length === 0) return nothing;
			// A device of the current group keeps its place, which a device of a later group would take otherwise.
			const devices = failed.map((step) => ({
				...queued(step.deviceId, now),
				...(step.group === group && { group }),
			}));
			const { endedAt: _endedAt, ...rest } = head;
			const next = {
				status: status === "finished" ? resumed : status,
				...(pausedBecause && { pausedBecause }),
			};
			return { head: updateHead(rest, { ...next, forgivenExecuted: 0, forgivenFailures: 0 }), devices };
		}
	}
}

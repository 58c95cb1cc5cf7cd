/**
 * State machine of a rollout, as pure functions that compute the next change from the stored state and the
 * devices. A device that becomes `offered` must be sent the update after the change is stored.
 */

import type { DeviceStep, Group, Head, Rollout } from "../api/rollout.js";
import { failureStatuses, isOneOf, isOver } from "../api/statuses.js";
import { type GetSnapshot, holdsSlot, isInstalled, observe, type Timing, withStatus } from "./device-step.js";

/** Change to store, then apply. */
export interface Change {
	readonly head?: Head;
	readonly devices: readonly DeviceStep[];
}

export const firstHead: Head = Object.freeze({
	status: "scheduled",
	group: 0,
	approved: -1,
	forgivenExecuted: 0,
	forgivenFailures: 0,
	revision: 1,
});

export function apply(rollout: Rollout, { head = rollout.head, devices }: Change): Rollout {
	const steps = devices.map((step) => [step.deviceId, step] as const);
	return {
		...rollout,
		head,
		devices: steps.length > 0 ? new Map([...rollout.devices, ...steps]) : rollout.devices,
	};
}

/** Whether devices may still change. */
export function isActive({ head, devices }: Rollout): boolean {
	return !isOver(head) || [...devices.values()].some(holdsSlot);
}

/** Returns the next change without a command. */
export function advance(rollout: Rollout, snapshotOf: GetSnapshot, timing: Timing): Change {
	const observed = [...rollout.devices.values()].flatMap((step) => {
		const next = observe(rollout, step, snapshotOf, timing);
		return next === step ? [] : [next];
	});
	const head = moveHead(apply(rollout, { devices: observed }), snapshotOf, timing);
	const moved = apply(rollout, { head, devices: observed });
	// A device that has just failed waits for the next call.
	const isSettled = (step: DeviceStep) => rollout.devices.get(step.deviceId) === step;
	const begun = offers(moved, isSettled, snapshotOf, timing);
	return { ...(head !== rollout.head && { head }), devices: [...observed, ...begun] };
}

/** Updates a head and its revision. `pausedBecause` is removed unless given. */
export function updateHead(head: Head, values: Pick<Head, "status"> & Partial<Head>): Head {
	const { pausedBecause: _pausedBecause, ...rest } = head;
	const { pausedBecause, ...others } = values;
	return { ...rest, ...others, ...(pausedBecause && { pausedBecause }), revision: head.revision + 1 };
}

/** Advances status and group as far as possible. */
function moveHead(rollout: Rollout, snapshotOf: GetSnapshot, timing: Timing): Head {
	const head = moveOnce(rollout, snapshotOf, timing);
	return head === rollout.head ? head : moveHead({ ...rollout, head }, snapshotOf, timing);
}

/** @returns the same object if nothing changes */
function moveOnce(rollout: Rollout, snapshotOf: GetSnapshot, { now, isDue, isLate }: Timing): Head {
	const { head, plan, devices } = rollout;
	if (isOver(head) || !isDue) return head;
	if (head.status === "scheduled") return updateHead(head, { status: "running", startedAt: now });
	const steps = [...devices.values()];
	const waiting = steps.filter(({ status }) => status === "queued");
	const isBusy = steps.some(holdsSlot);
	if (waiting.length === 0 && !isBusy && !(plan.standing && !isLate))
		return updateHead(head, { status: "finished", endedAt: now });
	const group = plan.groups[head.group];
	if (head.status !== "running" || waiting.length === 0 || !group) return head;
	if (exceedsErrorThreshold(rollout, group))
		return updateHead(head, { status: "paused", pausedBecause: "failures" });
	if (group.approval && head.approved < head.group)
		return updateHead(head, { status: "paused", pausedBecause: "approval" });
	const isLast = head.group === plan.groups.length - 1;
	const mayTryAgain = waiting.some(
		(step) => step.group === head.group && snapshotOf(step.deviceId)?.isConnected,
	);
	const isFull =
		begunIn(steps, head.group) >= sizeOf(group, steps) || waiting.every((step) => step.group !== undefined);
	if (isLast || isBusy || mayTryAgain || !isFull) return head;
	return updateHead(head, {
		status: "running",
		group: head.group + 1,
		forgivenExecuted: 0,
		forgivenFailures: 0,
	});
}

/** Returns steps of the devices that begin now. */
function offers(
	{ head, plan, devices }: Rollout,
	isSettled: (step: DeviceStep) => boolean,
	snapshotOf: GetSnapshot,
	{ now, isOpen, isLate }: Timing,
): DeviceStep[] {
	const group = plan.groups[head.group];
	if (head.status !== "running" || !group || !isOpen || isLate) return [];
	const steps = [...devices.values()];
	let slots = group.concurrency - steps.filter(holdsSlot).length;
	let places = sizeOf(group, steps) - begunIn(steps, head.group);
	const begun: DeviceStep[] = [];
	for (const step of steps) {
		if (slots <= 0) break;
		const mayBegin = step.status === "queued" && isSettled(step) && (step.group !== undefined || places > 0);
		const snapshot = mayBegin ? snapshotOf(step.deviceId) : undefined;
		if (!snapshot?.isAvailable) continue;
		slots -= 1;
		if (step.group === undefined) places -= 1;
		const { previousJob: _previousJob, previousCrash: _previousCrash, ...rest } = step;
		const previous = {
			...(snapshot.job && { previousJob: snapshot.job.startedAt }),
			...(snapshot.crash && { previousCrash: snapshot.crash.id }),
		};
		const next = { ...rest, ...previous, group: head.group };
		// An attempt counted as failed may have succeeded since.
		if (isInstalled(plan, snapshot)) begun.push(withStatus(next, "soaking", now));
		else begun.push({ ...withStatus(next, "offered", now), attempts: step.attempts + 1 });
	}
	return begun;
}

/** Number of devices in a group. */
export function sizeOf({ size }: Pick<Group, "size">, steps: readonly DeviceStep[]): number {
	if (typeof size === "number") return size;
	if (size === "rest") return Number.POSITIVE_INFINITY;
	const updated = steps.filter((step) => step.group !== undefined || step.status === "queued");
	return Math.ceil((updated.length * Number.parseInt(size, 10)) / 100);
}

function begunIn(steps: readonly DeviceStep[], group: number): number {
	return steps.filter((step) => step.group === group).length;
}

/** Whether too many devices of the current group failed. A group smaller than the threshold has a lower threshold. */
function exceedsErrorThreshold(rollout: Rollout, { errorThreshold, size }: Group): boolean {
	const { head, devices } = rollout;
	const { count, percent, minExecuted } = errorThreshold;
	const results = resultsOf(rollout);
	const failures = results.failures - head.forgivenFailures;
	const executed = results.executed - head.forgivenExecuted;
	const most = sizeOf({ size }, [...devices.values()]);
	if (failures <= 0) return false;
	if (count !== undefined && failures >= Math.min(count, most)) return true;
	return (
		percent !== undefined && executed >= Math.min(minExecuted, most) && failures * 100 >= percent * executed
	);
}

/** Counts devices of the current group that are done, and those that failed. */
export function resultsOf({ head, devices }: Rollout) {
	const steps = [...devices.values()].filter((step) => step.group === head.group);
	const failures = steps.filter(({ status }) => isOneOf(failureStatuses, status)).length;
	return { failures, executed: failures + steps.filter(({ status }) => status === "succeeded").length };
}

/**
 * Standing rollouts, as pure functions: devices join and leave, and the rollout follows later releases of its
 * channel.
 */

import { gt } from "semver";
import type { DeviceStep, Plan, Rollout } from "../api/rollout.js";
import { isOver } from "../api/statuses.js";
import { silenceMs } from "../firmware/update-job.js";
import { findObstacle, type GetSnapshot, holdsSlot, queued, type Timing, withStatus } from "./device-step.js";
import { firstHead, updateHead } from "./machine.js";

/** Whether devices may join, now or when they reconnect. */
export function isStanding({ plan, head }: Pick<Rollout, "plan" | "head">, { isLate }: Timing): boolean {
	return plan.standing && !isOver(head) && !isLate;
}

/**
 * Whether an updated device is connected with an older version. One that rolled the update back does not
 * count, as it would do so again.
 */
export function isBehind(
	{ plan }: Rollout,
	{ status, deviceId }: DeviceStep,
	snapshotOf: GetSnapshot,
): boolean {
	if (status !== "succeeded" && status !== "already_installed") return false;
	const snapshot = snapshotOf(deviceId);
	if (!snapshot?.isConnected || snapshot.isElsewhere) return false;
	const isRolledBack =
		snapshot.job?.status === "rolled_back" && snapshot.job.version === plan.firmware.version;
	return !isRolledBack && findObstacle({ ...plan, allowDowngrade: false }, snapshot) === undefined;
}

/**
 * @param ids devices that the target selects now
 * @param rejoins whether a completed device joins again
 * @returns devices that join, and queued ones that leave because they lost their tags, except those of other gateways
 */
export function updateMembers(
	{ devices }: Rollout,
	ids: readonly string[],
	rejoins: (step: DeviceStep) => boolean,
	snapshotOf: GetSnapshot,
	now: number,
): readonly DeviceStep[] {
	const joining = ids.filter((id) => {
		const step = devices.get(id);
		const mayJoin = !step || step.status === "removed" || step.status === "cancelled" || rejoins(step);
		return mayJoin && !snapshotOf(id)?.isElsewhere;
	});
	const meant = new Set(ids);
	const leaving = [...devices.values()].filter(
		({ status, deviceId }) =>
			status === "queued" && !meant.has(deviceId) && snapshotOf(deviceId)?.isElsewhere === false,
	);
	return [
		...joining.map((id) => queued(id, now)),
		...leaving.map((step) =>
			withStatus(step, "cancelled", now, "The device no longer has the tags of the rollout."),
		),
	];
}

/** Whether a standing rollout should continue with that version. */
export function isLater(plan: Plan, version: string): boolean {
	return gt(version, plan.firmware.version);
}

/**
 * Whether updates are in progress that a later release has to wait for. Soaking devices count for at most 5
 * minutes.
 */
export function isUpdating({ devices }: Rollout, now: number): boolean {
	return [...devices.values()].some(
		(step) => holdsSlot(step) && !(step.status === "soaking" && now - step.at >= silenceMs),
	);
}

/**
 * Returns the rollout with a later release, restarted from its first group; its devices join again. It stays
 * paused if an operator paused it.
 */
export function withRelease(rollout: Rollout, firmware: Plan["firmware"], now: number): Rollout {
	const { plan, head } = rollout;
	const { revision, startedAt, pausedBecause } = head;
	const isPaused = head.status === "paused" && pausedBecause === "operator";
	const next = updateHead(
		{ ...firstHead, revision, ...(startedAt !== undefined && { startedAt: now }) },
		isPaused
			? { status: "paused", pausedBecause: "operator" }
			: { status: startedAt === undefined ? "scheduled" : "running" },
	);
	return { ...rollout, plan: { ...plan, firmware }, head: next, devices: new Map() };
}

/**
 * State machine of one device in a rollout, as pure functions of the gateway's data about the device, so that
 * a restart does not change their result.
 */

import { isNewer, isSameVersion } from "../api/channels.js";
import type { DeviceStep, Plan, Rollout } from "../api/rollout.js";
import { isOneOf, isOver, slotStatuses } from "../api/statuses.js";
import { type Fit, fits, isSameImage } from "../firmware/image.js";
import type { UpdateRejection } from "../firmware/rejections.js";
import { isActive, silenceMs, type UpdateJob } from "../firmware/update-job.js";
import type { LatestCrash } from "../services/devices.js";

/** Offer that is being sent, or was rejected. */
export type Offer = "pending" | UpdateRejection;

/** Data of the gateway about a device. */
export interface DeviceSnapshot extends Fit {
	readonly version: string | null;
	/** Running image; undefined if unknown. */
	readonly imageId?: string | undefined;
	/** Whether it is connected and has reported, so `version` is up to date. */
	readonly isConnected: boolean;
	/** Whether it is connected to another gateway, which follows it. */
	readonly isElsewhere: boolean;
	/** Whether it is connected to this gateway and its next attempt is not delayed. */
	readonly isAvailable: boolean;
	/** Latest offer of this gateway; undefined if it was sent. */
	readonly offer?: Offer | undefined;
	/** Latest update. */
	readonly job?: UpdateJob | undefined;
	/** Latest known crash. */
	readonly crash?: LatestCrash | undefined;
	/** Whether its update began before the gateway's latest start, so messages about it may have been lost. */
	readonly isInherited: boolean;
	/** Whether it is offline but may reconnect soon, because the gateway has just started. */
	readonly isReturning: boolean;
}

export interface Timing {
	/** Milliseconds since 1970, on a clock that is never set and never behind a stored time. */
	readonly now: number;
	/** Whether `startsAt` has passed, even if the clock was set back since. */
	readonly isDue: boolean;
	/** Whether updates may begin. */
	readonly isOpen: boolean;
	/** Whether `deadline` has passed. */
	readonly isLate: boolean;
	/** Time after which records of other gateways were read, such as that of an update, which precedes its command. */
	readonly graceMs: number;
}

/** Time gateways need to reconnect after a NATS server failed. A recorded rollback counts immediately. */
export const settleMs = 30_000;

export type GetSnapshot = (deviceId: string) => DeviceSnapshot | undefined;

export function queued(deviceId: string, at: number): DeviceStep {
	return { deviceId, status: "queued", at, attempts: 0 };
}

/** Whether the device waits for another attempt, after one that failed or could not begin. */
export function isRetrying({ status, reason }: DeviceStep): boolean {
	return status === "queued" && reason !== undefined;
}

export function holdsSlot({ status }: DeviceStep): boolean {
	return isOneOf(slotStatuses, status);
}

/** Whether a device runs the firmware of a plan: the same image if both are known, otherwise the same version. */
export function isInstalled({ firmware }: Plan, { version, imageId, model, chip }: DeviceSnapshot): boolean {
	const images = firmware.images.filter((image) => fits(image, { model, chip }));
	const same = images.map((image) => isSameImage(imageId, image.imageId));
	if (same.length > 0 && !same.includes(undefined)) return same.includes(true);
	return isSameVersion(version, firmware.version);
}

/** Returns why a device must not be offered the update, or undefined. */
export function findObstacle(plan: Plan, snapshot: DeviceSnapshot) {
	const { version, model, chip } = snapshot;
	const target = plan.firmware.version;
	if (!plan.firmware.images.some((image) => fits(image, { model, chip })))
		return { kind: "doNotFit", reason: `${target} has no image for this device.` } as const;
	if (isInstalled(plan, snapshot)) return { kind: "alreadyInstalled", reason: undefined } as const;
	if (isNewer(version, target) && !plan.allowDowngrade)
		return {
			kind: "downgrades",
			reason: `It runs ${version}, which is newer; a downgrade requires allowDowngrade.`,
		} as const;
	return undefined;
}

/** @param at milliseconds since 1970 */
export function withStatus(
	step: DeviceStep,
	status: DeviceStep["status"],
	at: number,
	reason?: string,
): DeviceStep {
	const { reason: _reason, ...rest } = step;
	return { ...rest, status, at, ...(reason !== undefined && { reason }) };
}

/**
 * Returns the next step of a device without a command.
 * @returns the same object if nothing changes
 */
export function observe(
	rollout: Rollout,
	step: DeviceStep,
	snapshotOf: GetSnapshot,
	timing: Timing,
): DeviceStep {
	const isQueued = step.status === "queued";
	const isTimedOut = step.status === "timed_out";
	if (!isQueued && !isTimedOut && !holdsSlot(step)) return step;
	const { now, isDue, isLate, graceMs } = timing;
	const snapshot = snapshotOf(step.deviceId);
	if (snapshot?.isElsewhere) return step;
	if (isTimedOut && !(snapshot && hasReturned(rollout, step, snapshot))) return step;
	// A device that has just connected to another gateway may not be known here yet.
	if (!snapshot && now - step.at < graceMs) return step;
	if (!snapshot) return withStatus(step, "removed", now, "The device was removed from the gateway.");
	if (!isQueued) return follow(rollout, step, snapshot, timing);
	if (!isDue) return step;
	const obstacle = findObstacle(rollout.plan, snapshot);
	// After an attempt the device soaks first, as after any update.
	if (obstacle?.kind === "alreadyInstalled" && step.attempts === 0)
		return withStatus(step, "already_installed", now);
	// Before its report, the version is that of an earlier connection.
	const isFinal = obstacle?.kind === "doNotFit" || snapshot.isConnected;
	if (obstacle?.reason !== undefined && isFinal) return withStatus(step, "rejected", now, obstacle.reason);
	return isLate ? withStatus(step, "timed_out", now, "The deadline passed before the update began.") : step;
}

/** Returns the update of a step's attempt. The previous update of another gateway's device may arrive late. */
function jobOf({ plan }: Rollout, { previousJob }: DeviceStep, { job }: DeviceSnapshot) {
	const { version } = plan.firmware;
	return job?.startedAt === previousJob || (job?.version ?? version) !== version ? undefined : job;
}

/** Whether a device that timed out is connected, and its update has continued or ended since. */
function hasReturned(rollout: Rollout, step: DeviceStep, snapshot: DeviceSnapshot): boolean {
	const job = jobOf(rollout, step, snapshot);
	return step.attempts > 0 && snapshot.isConnected && job !== undefined && job.status !== "failed";
}

/** Returns the next step of a device in a slot, from its report and its recorded update. */
function follow(rollout: Rollout, step: DeviceStep, snapshot: DeviceSnapshot, timing: Timing): DeviceStep {
	const { now, graceMs } = timing;
	const { offer } = snapshot;
	const job = jobOf(rollout, step, snapshot);
	if (step.status === "offered" && typeof offer === "object") return requeue(rollout, step, offer, now);
	if (!job) {
		if (step.status === "soaking" || isInstalled(rollout.plan, snapshot))
			return soak(rollout, step, snapshot, now);
		// Its gateway was stopped before it sent the update.
		const isUnsent = step.status === "offered" && offer !== "pending" && now - step.at >= graceMs;
		if (isUnsent) return requeue(rollout, step, undefined, now);
		const isSilent = now - step.at >= silenceMs && !snapshot.isReturning;
		return isSilent ? withStatus(step, "timed_out", now, "No update status received for 5 minutes.") : step;
	}
	// The report may arrive before the end of the update, which another gateway may have recorded.
	if (snapshot.isConnected && isInstalled(rollout.plan, snapshot) && isActive(job))
		return soak(rollout, step, snapshot, now);
	switch (job.status) {
		case "updated":
			return soak(rollout, step, snapshot, now);
		case "rolled_back":
			return withStatus(step, "rolled_back", now, job.reason);
		case "failed": {
			if (job.busy) return requeue(rollout, step, { message: job.reason }, now);
			// The command may never have been sent, which turns out once the device reconnects.
			if (job.silent === true && snapshot.isInherited && snapshot.isReturning) return step;
			const isSilent = job.silent === true && !(snapshot.isInherited && snapshot.isConnected);
			const mayTryAgain = step.attempts < rollout.plan.maxAttempts && !isOver(rollout.head);
			if (!isSilent && mayTryAgain && !timing.isLate) return withStatus(step, "queued", now, job.reason);
			return withStatus(step, isSilent ? "timed_out" : "failed", now, job.reason);
		}
		case "downloading":
		case "rebooting":
			return step.status === job.status ? step : withStatus(step, job.status, now);
		default:
			return step;
	}
}

/** Returns a step to the queue without counting an attempt, as the update was not sent or the device was busy. */
function requeue(
	{ head }: Rollout,
	step: DeviceStep,
	rejection: UpdateRejection | { readonly message: string | undefined } | undefined,
	now: number,
): DeviceStep {
	const { group, ...rest } = step;
	const attempts = step.attempts - 1;
	const before = { ...rest, attempts, ...(attempts > 0 && group !== undefined && { group }) };
	const isFinal = rejection !== undefined && "isFinal" in rejection;
	const waits = isOver(head) ? "cancelled" : "queued";
	return withStatus(before, isFinal ? "rejected" : waits, now, rejection?.message);
}

/**
 * Remaining soak time in whole seconds; 0: the device only has to connect.
 * @returns null for a device that does not soak
 */
export function soakSecondsLeft({ plan }: Rollout, step: DeviceStep, now: number): number | null {
	if (step.status !== "soaking") return null;
	const soakSeconds = soakSecondsOf(plan, step);
	return Math.min(soakSeconds, Math.max(0, Math.ceil(soakSeconds - (now - step.at) / 1000)));
}

/** Returns the next step of a device that runs the new firmware, which may still fail or be rolled back. */
function soak({ plan }: Rollout, step: DeviceStep, snapshot: DeviceSnapshot, now: number): DeviceStep {
	const { version, isConnected, isReturning, crash } = snapshot;
	if (step.status !== "soaking") return withStatus(step, "soaking", now);
	if (crash && crash.id !== step.previousCrash && isSameVersion(crash.version, plan.firmware.version))
		return withStatus(step, "failed", now, `The new firmware crashed (${crash.kind}).`);
	if (isConnected && !isInstalled(plan, snapshot))
		return now - step.at < settleMs
			? step
			: withStatus(step, "rolled_back", now, `It runs ${version} again.`);
	const overdueMs = now - step.at - soakSecondsOf(plan, step) * 1000;
	if (overdueMs >= 0 && isConnected) return withStatus(step, "succeeded", now);
	const reason = "The device runs the new firmware but was offline for 5 minutes after its soak time.";
	// Time during which the gateway was stopped does not count.
	return overdueMs >= silenceMs && !isReturning ? withStatus(step, "timed_out", now, reason) : step;
}

function soakSecondsOf({ groups }: Plan, { group = 0 }: DeviceStep): number {
	return groups[group]?.soakSeconds ?? 0;
}

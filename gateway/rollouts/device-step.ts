/**
 * State machine of one device in a rollout, as pure functions of the gateway's data about the device, so that
 * a restart does not change their result.
 */

import { compareVersions, isSameVersion } from "../api/channels.js";
import type { DeviceStep, Plan, Rollout } from "../api/rollout.js";
import { isOneOf, isOver, slotStatuses } from "../api/statuses.js";
import { type Fit, fits } from "../firmware/image.js";
import type { UpdateRejection } from "../firmware/rejections.js";
import { isActive, silenceMs, type UpdateJob } from "../firmware/update-job.js";
import type { LatestCrash } from "../services/devices.js";

/** Result of an offer: in progress, sent (the device's gateway may not have published its record yet), or rejected. */
export type Offer = "pending" | "sent" | UpdateRejection;

/** Current state of a device. */
export interface Seen extends Fit {
	readonly version: string | null;
	/** Whether it is connected and has reported, so `version` is up to date. */
	readonly isConnected: boolean;
	/** Whether it is connected and its next attempt is not delayed. */
	readonly isAvailable: boolean;
	/** Result of the latest offer since the gateway's start. */
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

export interface Moment {
	/** Milliseconds since 1970, by a clock that is never set, and that is not behind any stored time. */
	readonly now: number;
	/** Whether `startsAt` has passed, even if the clock was set back since. */
	readonly isDue: boolean;
	readonly isOpen: boolean;
	readonly isLate: boolean;
}

/** Time after which an update without a record counts as not sent. Records precede their command. */
const unsentMs = 30_000;
/**
 * Grace period for a device of another gateway, whose update result may arrive before its version: the time
 * gateways need to reconnect after a NATS server failed. A recorded rollback counts immediately.
 */
export const settleMs = 30_000;

export type Look = (deviceId: string) => Seen | undefined;

export function queued(deviceId: string, at: number): DeviceStep {
	return { deviceId, status: "queued", at, attempts: 0 };
}

export function holdsSlot({ status }: DeviceStep): boolean {
	return isOneOf(slotStatuses, status);
}

/** Why a device is not to be offered the update; undefined: it is. */
export function findObstacle(plan: Plan, { version, model, chip }: Seen) {
	const target = plan.firmware.version;
	if (!plan.firmware.images.some((image) => fits(image, { model, chip })))
		return { kind: "doNotFit", reason: `${target} has no image for this device.` } as const;
	const order = compareVersions(version, target);
	if (order === 0) return { kind: "alreadyInstalled", reason: undefined } as const;
	if (order !== undefined && order > 0 && !plan.allowDowngrade)
		return {
			kind: "downgrades",
			reason: `It runs ${version}, which is newer; a downgrade needs allowDowngrade.`,
		} as const;
	return undefined;
}

/** @param at milliseconds since 1970 */
export function move(
	step: DeviceStep,
	status: DeviceStep["status"],
	at: number,
	reason?: string,
): DeviceStep {
	const { reason: _reason, ...rest } = step;
	return { ...rest, status, at, ...(reason !== undefined && { reason }) };
}

/** Computes the next step of a device. @returns the same object if nothing changes */
export function observe(rollout: Rollout, step: DeviceStep, look: Look, moment: Moment): DeviceStep {
	const isQueued = step.status === "queued";
	if (!isQueued && !holdsSlot(step)) return step;
	const { now, isDue, isLate } = moment;
	const seen = look(step.deviceId);
	if (!seen) return move(step, "removed", now, "The gateway has forgotten this device.");
	if (!isQueued) return follow(rollout, step, seen, moment);
	if (!isDue) return step;
	const obstacle = findObstacle(rollout.plan, seen);
	// After an attempt it is watched first, as after the update.
	if (obstacle?.kind === "alreadyInstalled" && step.attempts === 0)
		return move(step, "already_installed", now);
	// Before its report, the version is that of an earlier connection.
	const isFinal = obstacle?.kind === "doNotFit" || seen.isConnected;
	if (obstacle?.reason !== undefined && isFinal) return move(step, "rejected", now, obstacle.reason);
	return isLate ? move(step, "timed_out", now, "The deadline passed before it could begin.") : step;
}

/** A device that holds a slot: its own report, and the update that the gateway has on record, decide. */
function follow(rollout: Rollout, step: DeviceStep, seen: Seen, moment: Moment): DeviceStep {
	const { now } = moment;
	const { version } = rollout.plan.firmware;
	// The previous update of a device of another gateway may become known late.
	const isOther = seen.job?.startedAt === step.previousJob || (seen.job?.version ?? version) !== version;
	const job = isOther ? undefined : seen.job;
	if (step.status === "offered" && (typeof seen.offer === "object" || !(job || seen.offer === "sent")))
		return seen.offer === "pending" ? step : giveBack(rollout, step, seen.offer, now);
	if (!job) {
		if (step.status === "soaking" || isSameVersion(seen.version, version))
			return soak(rollout, step, seen, now);
		const isUnsent = step.status === "offered" && seen.isConnected && now - step.at >= unsentMs;
		if (isUnsent) return giveBack(rollout, step, seen.offer, now);
		const isSilent = now - step.at >= silenceMs && !seen.isReturning;
		return isSilent ? move(step, "timed_out", now, "Nothing was heard of the update for 5 minutes.") : step;
	}
	// Its report may be known before the end of the update, which another gateway may have on record.
	if (seen.isConnected && isSameVersion(seen.version, version) && isActive(job))
		return soak(rollout, step, seen, now);
	switch (job.status) {
		case "updated":
			return soak(rollout, step, seen, now);
		case "rolled_back":
			return move(step, "rolled_back", now, job.reason);
		case "failed": {
			if (job.busy) return giveBack(rollout, step, { message: job.reason }, now);
			// Its command may never have been sent: that is known once the device is back.
			if (job.silent === true && seen.isInherited && seen.isReturning) return step;
			const isSilent = job.silent === true && !(seen.isInherited && seen.isConnected);
			const mayTryAgain = step.attempts < rollout.plan.maxAttempts && !isOver(rollout.head);
			if (!isSilent && mayTryAgain && !moment.isLate) return move(step, "queued", now, job.reason);
			return move(step, isSilent ? "timed_out" : "failed", now, job.reason);
		}
		case "downloading":
		case "rebooting":
			return step.status === job.status ? step : move(step, job.status, now);
		default:
			return step;
	}
}

/** The update was not sent, or the device was busy: that is no attempt. */
function giveBack(
	{ head }: Rollout,
	step: DeviceStep,
	offer: Seen["offer"] | { readonly message: string | undefined },
	now: number,
): DeviceStep {
	const rejection = typeof offer === "object" ? offer : undefined;
	const { group, ...rest } = step;
	const attempts = step.attempts - 1;
	const before = { ...rest, attempts, ...(attempts > 0 && group !== undefined && { group }) };
	const isFinal = rejection !== undefined && "isFinal" in rejection;
	const waits = isOver(head) ? "cancelled" : "queued";
	return move(before, isFinal ? "rejected" : waits, now, rejection?.message);
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

/** It runs the new firmware, which may still fail and go back. */
function soak({ plan }: Rollout, step: DeviceStep, seen: Seen, now: number): DeviceStep {
	const { version, isConnected, isReturning, crash } = seen;
	if (step.status !== "soaking") return move(step, "soaking", now);
	if (crash && crash.id !== step.previousCrash && isSameVersion(crash.version, plan.firmware.version))
		return move(step, "failed", now, `The new firmware crashed (${crash.kind}).`);
	if (isConnected && !isSameVersion(version, plan.firmware.version))
		return now - step.at < settleMs ? step : move(step, "rolled_back", now, `It runs ${version} again.`);
	const overdueMs = now - step.at - soakSecondsOf(plan, step) * 1000;
	if (overdueMs >= 0 && isConnected) return move(step, "succeeded", now);
	const reason = "It runs the new firmware, but was not connected in the 5 minutes after its soak time.";
	// The time for which the gateway was stopped says nothing about the device.
	return overdueMs >= silenceMs && !isReturning ? move(step, "timed_out", now, reason) : step;
}

function soakSecondsOf({ groups }: Plan, { group = 0 }: DeviceStep): number {
	return groups[group]?.soakSeconds ?? 0;
}

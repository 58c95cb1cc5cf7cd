/**
 * State machine of an update, as pure functions, so that tests can try any order of messages, timeouts and reconnections.
 *
 * pending → downloading → rebooting → updated | rolled_back | failed. The version that the device reports is decisive.
 */

import { imageId, type StateReport, type Uplink } from "../../device/protocol/messages.js";
import {
	boolean,
	type Infer,
	integer,
	list,
	matches,
	object,
	oneOf,
	optional,
	string,
} from "../../device/protocol/schema.js";
import { isSameVersion } from "../api/channels.js";
import { isActiveUpdate, otaStatuses, resetText } from "../api/statuses.js";
import { time } from "../api/time.js";
import type { OtaMetadata } from "../api/update.js";
import { isSameImage } from "./image.js";
import type { Choice } from "./selection.js";

/** Longer than the longest reason of a device, which sentences of the gateway precede and follow. */
const maxReasonLength = 1200;

/** Stored update of a device. */
export const updateJob = object({
	status: oneOf(...otaStatuses),
	/** Progress; absent before the download. */
	percent: optional(integer(0, 100)),
	/** Version to install; absent if unknown. */
	version: optional(string(64)),
	/** Image to install, as in `system.image`; absent if unknown. */
	imageId: optional(imageId),
	/** Previous version; absent until known. */
	from: optional(string(32)),
	/** Previous image; absent until known. */
	fromImageId: optional(imageId),
	reason: optional(string(maxReasonLength)),
	startedAt: time,
	/** Uptime in the latest report before the start, in seconds. */
	uptime: optional(integer(0, 0xffff_ffff)),
	endedAt: optional(time),
	/** Whether it timed out. Later messages may still change its status. */
	silent: optional(boolean()),
	/** Whether the device rejected it with `busy`, so that a retry may succeed. */
	busy: optional(boolean()),
	/** Whether `ota_complete` was received. The new firmware starts next. */
	complete: optional(boolean()),
	/** SHA-256 of the upload; absent for a release. */
	upload: optional(string(64)),
});
export type UpdateJob = Infer<typeof updateJob>;
const jobsRecord = object({ jobs: list(updateJob, 1000) });

export const jobsFile = Object.freeze({
	what: "updates",
	format: (jobs: readonly UpdateJob[]) => ({ jobs }),
	parse: (value: unknown): readonly UpdateJob[] | undefined =>
		matches(jobsRecord, value) ? value.jobs : undefined,
});

/** Number of updates stored per device. */
export const maxJobs = 10;

/** Timeout of an update without a message. */
export const silenceMs = 5 * 60_000;

/** Time in which new firmware may still roll back: it has 2 minutes to confirm itself, then restarts. */
const probationMs = 5 * 60_000;

/** Circumstances in which an uplink is received. */
export interface UplinkContext {
	/** Milliseconds since 1970, for display only. */
	readonly now: number;
	/** Age of the latest update. */
	readonly ageMs: number;
	/** Whether ages are based on the wall clock, which may have been changed, as the gateway was restarted meanwhile. */
	readonly isAgeEstimated?: boolean;
	/** Time since the device last reconnected with the new version. */
	readonly updatedAgoMs: number;
	/** Upload served currently. */
	readonly upload: { readonly sha256: string; readonly version?: string | undefined } | undefined;
	/** Version that the device runs; null if unknown. */
	readonly runningVersion: string | null;
	/** Image that the device runs; undefined if unknown. */
	readonly runningImageId?: string | undefined;
	/** Whether the device has reconnected since the last transition. */
	readonly isNewSession: boolean;
}

/**
 * Creates a pending update.
 * @param uptime in the latest report, in seconds
 */
export function createJob(
	{ now, runningVersion, runningImageId }: Pick<UplinkContext, "now" | "runningVersion" | "runningImageId">,
	{ version, imageId, upload }: Pick<Choice, "version" | "imageId" | "upload">,
	uptime?: number,
): UpdateJob {
	return {
		status: "pending",
		startedAt: now,
		...(version !== null && { version }),
		...(imageId !== undefined && { imageId }),
		...(runningVersion !== null && { from: runningVersion }),
		...(runningImageId !== undefined && { fromImageId: runningImageId }),
		...(upload !== undefined && { upload }),
		...(uptime !== undefined && { uptime }),
	};
}

export function isActive(job: UpdateJob | undefined): job is UpdateJob {
	return job !== undefined && isActiveUpdate(job.status);
}

/**
 * Applies an uplink to the updates of the device.
 * @param jobs the latest last
 * @returns the same list if nothing changes
 */
export function applyUplink(
	jobs: readonly UpdateJob[],
	uplink: Uplink,
	context: UplinkContext,
): readonly UpdateJob[] {
	const rolledBack = uplink.type === "state_report" && applyLateRollback(jobs, uplink, context);
	if (rolledBack) return rolledBack;
	const job = jobs.at(-1);
	if (job && isOpen(job, uplink, context)) {
		const next = transition(job, uplink, context);
		return next === job ? jobs : [...jobs.slice(0, -1), next];
	}
	// The update was started by a forwarded start_ota.
	if (uplink.type.startsWith("ota_"))
		return [...jobs, transition(createJob(context, { version: null }), uplink, context)];
	return jobs;
}

/**
 * Detects a late rollback. A device on probation rejects the next update and may roll back afterwards. The update before
 * then becomes the latest one again, with the status `rolled_back`.
 */
function applyLateRollback(jobs: readonly UpdateJob[], report: StateReport, context: UplinkContext) {
	const at = jobs.findLastIndex(({ status }) => status === "updated");
	const updated = jobs[at];
	if (!updated || at === jobs.length - 1) return undefined;
	const later = jobs.slice(at + 1);
	const hasBegun = later.some((job) => job.percent !== undefined || runsNew(job, report));
	if (hasBegun || !isOpen(updated, report, context)) return undefined;
	const next = transition(updated, report, context);
	if (next === updated) return undefined;
	const ended = later.map((job) =>
		isActive(job)
			? fail(job, context, "The device reverted to its previous firmware before this update started.")
			: job,
	);
	return [...jobs.slice(0, at), ...ended, next];
}

/** Whether an uplink can still change the update. */
function isOpen(job: UpdateJob, uplink: Uplink, { updatedAgoMs }: UplinkContext): boolean {
	if (job.status !== "updated") return job.silent === true || isActive(job);
	if (uplink.type !== "state_report") return false;
	// Compares the time of the start, as the report may be late after a lost connection.
	return updatedAgoMs - uplink.health.uptime_seconds * 1000 < probationMs;
}

export function metadataOf(job: UpdateJob | undefined): OtaMetadata {
	return {
		otaStatus: job?.status ?? "idle",
		otaPercent: job?.percent ?? null,
		otaVersion: job?.version ?? null,
		otaReason: job?.reason ?? null,
	};
}

/**
 * @param job an open update
 * @returns the same object if nothing changes
 */
function transition(job: UpdateJob, uplink: Uplink, context: UplinkContext): UpdateJob {
	switch (uplink.type) {
		case "ota_progress":
			return applyProgress(job, uplink.percent);
		case "ota_complete":
			return job.status === "rebooting"
				? job
				: withStatus(job, { status: "rebooting", percent: 100, complete: true });
		case "ota_error":
			return fail(
				job,
				context,
				(job.silent ? `${job.reason} ` : "") + (uplink.reason || "The device reported no reason."),
			);
		case "command_error":
			if (uplink.command !== "start_ota" || job.status !== "pending") return job;
			return {
				...fail(job, context, `The device rejected the update (${uplink.code}): ${uplink.message}`),
				...(uplink.code === "busy" && { busy: true }),
			};
		case "state_report":
			return applyReport(job, uplink, context);
		case "settings_result":
		case "sound_update":
		case "crash_report":
		case "log":
			return job;
	}
}

/** Fails an update after `silenceMs` without a message. */
export function timeOut(job: UpdateJob, now: number): UpdateJob {
	const stalled = `The download stalled at ${job.percent ?? 0} %`;
	const started = job.status === "rebooting" ? "The device did not reconnect" : stalled;
	const problem = job.status === "pending" ? "The device did not start the update" : started;
	return {
		...fail(job, { now, upload: undefined }, `${problem}: no message for 5 minutes.`),
		silent: true,
	};
}

function applyProgress(job: UpdateJob, percent: number): UpdateJob {
	const furthest = Math.max(percent, job.percent ?? 0);
	if (job.status === "rebooting" || (job.status === "downloading" && furthest === job.percent)) return job;
	return withStatus(job, { status: "downloading", percent: furthest });
}

function applyReport(job: UpdateJob, report: StateReport, context: UplinkContext): UpdateJob {
	const { now, ageMs, isAgeEstimated = false, isNewSession } = context;
	const { firmware_version: reported, image } = report.system;
	const isNew = runsNew(job, report);
	const from = job.from ?? (isNewSession ? undefined : reported);
	const isFrom = isSameImage(image, job.fromImageId) ?? reported === from;
	if (job.status === "updated") {
		const isReverted = isNewSession && isFrom && !isNew;
		return isReverted ? rollBack(job, report, now) : job;
	}
	if (isNew && !isFrom) return succeed(job, reported, now);
	if (!isNewSession) {
		const isKnown = job.from !== undefined && (job.fromImageId ?? image) === job.fromImageId;
		return isKnown ? job : { ...job, from: reported, ...(image !== undefined && { fromImageId: image }) };
	}

	const { uptime_seconds: uptime } = report.health;
	const hasRestarted =
		isAgeEstimated && job.uptime !== undefined ? uptime < job.uptime : ageMs > (uptime + 1) * 1000;
	const isOld = from === undefined || isFrom;
	if (!isOld && job.version === undefined) return succeed(job, reported, now);
	if (isOld && (job.status === "rebooting" || (job.complete && hasRestarted)))
		return isNew ? succeed(job, reported, now) : rollBack(job, report, now);
	if (job.silent || (isOld && !hasRestarted)) return job;
	return fail(job, context, isOld ? describeRestart(job, report) : describeOther(job, reported));
}

/** Whether the device runs the firmware of the update: the same image if both are known, otherwise the same version. */
function runsNew({ version, imageId }: UpdateJob, { system }: StateReport): boolean {
	return isSameImage(system.image, imageId) ?? isSameVersion(version ?? null, system.firmware_version);
}

function describeRestart({ percent = 0 }: UpdateJob, { system, health }: StateReport): string {
	if (percent < 100) return `The device restarted during the update, at ${percent} %.`;
	// Not a rollback, as the new firmware may never have run.
	const when = "after 100 %, before it reported completion";
	return `The device restarted (${health.reset_reason}) ${when}. It still runs ${system.firmware_version}.`;
}

function describeOther({ version }: UpdateJob, reported: string): string {
	const what = isSameVersion(version ?? null, reported) ? `another image of ${reported}` : reported;
	return `The device reconnected with ${what}, which this gateway did not send.`;
}

function succeed(job: UpdateJob, reported: string, endedAt: number): UpdateJob {
	const { version = reported } = job;
	return withStatus(job, { status: "updated", percent: 100, version, endedAt });
}

function rollBack(job: UpdateJob, { system, health }: StateReport, endedAt: number): UpdateJob {
	const reason = `The device reverted to ${system.firmware_version}; the new firmware ended: ${resetText(health.reset_reason)}.`;
	return withStatus(job, { status: "rolled_back", reason, endedAt });
}

function fail(
	job: UpdateJob,
	{ now, upload }: Pick<UplinkContext, "now" | "upload">,
	reason: string,
): UpdateJob {
	const isReplaced = job.upload !== undefined && upload !== undefined && job.upload !== upload.sha256;
	const by = upload?.version ?? "another image";
	const note = isReplaced ? ` The upload was replaced by ${by} after this update was requested.` : "";
	const whole = (reason + note).slice(0, maxReasonLength);
	return withStatus(job, { status: "failed", reason: whole, endedAt: now });
}

/** Sets values and removes those of an earlier end. */
function withStatus(job: UpdateJob, values: Pick<UpdateJob, "status"> & Partial<UpdateJob>): UpdateJob {
	const { silent: _silent, reason: _reason, endedAt: _endedAt, ...rest } = job;
	return { ...rest, ...values };
}

/**
 * The state machine of one update, as pure functions, so that tests can try any order of messages, silence and
 * reconnection.
 *
 * pending → downloading → rebooting → updated | rolled_back | failed. The version that the device reports decides.
 */

import type { StateReport, Uplink } from "../../device/protocol/messages.js";
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

/** Update of a device, as stored. */
export const updateJob = object({
	status: oneOf(...otaStatuses),
	/** Absent before the download. */
	percent: optional(integer(0, 100)),
	/** Version to install; absent if unknown. */
	version: optional(string(64)),
	/** Previous version; absent until known. */
	from: optional(string(32)),
	reason: optional(string(1200)),
	startedAt: time,
	/** Uptime in the device's latest report before that, in seconds. */
	uptime: optional(integer(0, 0xffff_ffff)),
	endedAt: optional(time),
	/** It timed out; later messages still count. */
	silent: optional(boolean()),
	/** The device refused it with `busy`, and takes it later. */
	busy: optional(boolean()),
	/** `ota_complete` was received: the new firmware starts next. */
	complete: optional(boolean()),
	/** SHA-256; absent for a release. */
	upload: optional(string(64)),
});
export type UpdateJob = Infer<typeof updateJob>;
const jobsRecord = object({ jobs: list(updateJob, 1000) });

export const jobsFile = Object.freeze({
	what: "updates",
	format: (jobs: readonly UpdateJob[]): string => `${JSON.stringify({ jobs }, null, "\t")}\n`,
	parse: (content: string): readonly UpdateJob[] | undefined => {
		const value: unknown = JSON.parse(content);
		return matches(jobsRecord, value) ? value.jobs : undefined;
	},
});

/** Number of latest updates stored per device. */
export const jobsKept = 10;

/** An update fails after this time without a message. */
export const silenceMs = 5 * 60_000;

/** New firmware may still roll back: it has 2 minutes to confirm itself, then restarts. */
const probationMs = 5 * 60_000;

export interface Heard {
	/** Milliseconds since 1970, for people only. */
	readonly now: number;
	/** Since the latest update began. */
	readonly ageMs: number;
	/** By the wall clock, since the gateway was restarted meanwhile: that may have been set. */
	readonly isAgeGuessed?: boolean;
	/** Since the device last came back with the version sent. */
	readonly updatedAgoMs: number;
	/** The upload that is served now. */
	readonly upload: { readonly sha256: string; readonly version?: string | undefined } | undefined;
	readonly runs: string | null;
	/** Whether it has connected again since the last transition. */
	readonly isNewSession: boolean;
}

/**
 * @param version null if unknown
 * @param upload SHA-256; undefined for a release
 */
export function beginJob(
	{ now, runs }: Pick<Heard, "now" | "runs">,
	version: string | null,
	upload?: string,
	uptime?: number,
): UpdateJob {
	return {
		status: "pending",
		startedAt: now,
		...(version !== null && { version }),
		...(runs !== null && { from: runs }),
		...(upload !== undefined && { upload }),
		...(uptime !== undefined && { uptime }),
	};
}

export function isActive(job: UpdateJob | undefined): job is UpdateJob {
	return job !== undefined && isActiveUpdate(job.status);
}

/**
 * Applies a message of the device to its jobs.
 * @param jobs the latest last
 * @returns the same list if nothing changes
 */
export function follow(jobs: readonly UpdateJob[], uplink: Uplink, heard: Heard): readonly UpdateJob[] {
	const rolledBack = uplink.type === "state_report" && followProbation(jobs, uplink, heard);
	if (rolledBack) return rolledBack;
	const job = jobs.at(-1);
	if (job && isOpen(job, uplink, heard)) {
		const next = transition(job, uplink, heard);
		return next === job ? jobs : [...jobs.slice(0, -1), next];
	}
	// An update not started here: a start_ota was forwarded.
	if (uplink.type.startsWith("ota_")) return [...jobs, transition(beginJob(heard, null), uplink, heard)];
	return jobs;
}

/**
 * Detects a late rollback. A device on probation refuses the next update and may roll back after that; then the
 * update before is rolled back and becomes the latest again.
 */
function followProbation(jobs: readonly UpdateJob[], report: StateReport, heard: Heard) {
	const at = jobs.findLastIndex(({ status }) => status === "updated");
	const updated = jobs[at];
	if (!updated || at === jobs.length - 1) return undefined;
	const later = jobs.slice(at + 1);
	const hasBegun = later.some(
		({ percent, version = null }) =>
			percent !== undefined || isSameVersion(version, report.system.firmware_version),
	);
	if (hasBegun || !isOpen(updated, report, heard)) return undefined;
	const next = transition(updated, report, heard);
	if (next === updated) return undefined;
	const ended = later.map((job) =>
		isActive(job)
			? fail(job, heard, "The device went back to its previous firmware before this began.")
			: job,
	);
	return [...jobs.slice(0, at), ...ended, next];
}

/** Whether a message of the device can still change it. */
function isOpen(job: UpdateJob, uplink: Uplink, { updatedAgoMs }: Heard): boolean {
	if (job.status !== "updated") return job.silent === true || isActive(job);
	if (uplink.type !== "state_report") return false;
	// The time of the start counts, not of the report: the connection may have been down.
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
 * @param job an open one
 * @returns the same object if nothing changes
 */
function transition(job: UpdateJob, uplink: Uplink, heard: Heard): UpdateJob {
	switch (uplink.type) {
		case "ota_progress":
			return download(job, uplink.percent);
		case "ota_complete":
			return job.status === "rebooting"
				? job
				: move(job, { status: "rebooting", percent: 100, complete: true });
		case "ota_error":
			return fail(job, heard, uplink.reason || "The device gave no reason.");
		case "command_error":
			if (uplink.command !== "start_ota" || job.status !== "pending") return job;
			return {
				...fail(job, heard, `The device refused it (${uplink.code}): ${uplink.message}`),
				...(uplink.code === "busy" && { busy: true }),
			};
		case "state_report":
			return evaluate(job, uplink, heard);
		case "settings_result":
		case "sound_update":
		case "crash_report":
		case "log":
			return job;
	}
}

/** Fails a job of which nothing was heard for `silenceMs`. */
export function timeOut(job: UpdateJob, now: number): UpdateJob {
	const stopped = `The download stopped at ${job.percent ?? 0} %`;
	const began = job.status === "rebooting" ? "The device did not come back" : stopped;
	const what = job.status === "pending" ? "The device did not begin" : began;
	return {
		...fail(job, { now, upload: undefined }, `${what}: nothing was heard of the update for 5 minutes.`),
		silent: true,
	};
}

function download(job: UpdateJob, percent: number): UpdateJob {
	const furthest = Math.max(percent, job.percent ?? 0);
	if (job.status === "rebooting" || (job.status === "downloading" && furthest === job.percent)) return job;
	return move(job, { status: "downloading", percent: furthest });
}

function evaluate(job: UpdateJob, report: StateReport, heard: Heard): UpdateJob {
	const { now, ageMs, isAgeGuessed = false, isNewSession } = heard;
	const runs = report.system.firmware_version;
	const isSent = job.version !== undefined && isSameVersion(runs, job.version);
	if (job.status === "updated") {
		const isBack = isNewSession && runs === job.from && !isSent;
		return isBack ? rollBack(job, report, now) : job;
	}
	const from = job.from ?? (isNewSession ? undefined : runs);
	if (isSent && runs !== from) return succeed(job, runs, now);
	if (!isNewSession) return job.from === undefined ? { ...job, from: runs } : job;

	const { uptime_seconds: uptime } = report.health;
	const hasRestarted =
		isAgeGuessed && job.uptime !== undefined ? uptime < job.uptime : ageMs > (uptime + 1) * 1000;
	const isOld = from === undefined || runs === from;
	if (!isOld && job.version === undefined) return succeed(job, runs, now);
	if (isOld && (job.status === "rebooting" || (job.complete && hasRestarted)))
		return isSent ? succeed(job, runs, now) : rollBack(job, report, now);
	if (job.silent || (isOld && !hasRestarted)) return job;
	return fail(job, heard, isOld ? describeRestart(job, report) : describeOther(job, runs, heard));
}

function describeRestart({ percent = 0 }: UpdateJob, { system, health }: StateReport): string {
	if (percent < 100) return `The device restarted in the middle of the update, at ${percent} %.`;
	// It may never have run the new firmware: then it is not a rollback.
	const when = "after 100 % and before it said that the update was complete";
	return `The device restarted (${health.reset_reason}) ${when}; it still runs ${system.firmware_version}.`;
}

function describeOther(job: UpdateJob, runs: string, { upload }: Heard): string {
	const isTheUpload = job.upload !== undefined && isSameVersion(upload?.version ?? null, runs);
	return `The device came back with ${runs}${isTheUpload ? "." : ", which this gateway did not send."}`;
}

function succeed(job: UpdateJob, runs: string, endedAt: number): UpdateJob {
	const { version = runs } = job;
	return move(job, { status: "updated", percent: 100, version, endedAt });
}

function rollBack(job: UpdateJob, { system, health }: StateReport, endedAt: number): UpdateJob {
	const reason = `The device went back to ${system.firmware_version}; the new firmware ended: ${resetText(health.reset_reason)}.`;
	return move(job, { status: "rolled_back", reason, endedAt });
}

function fail(job: UpdateJob, { now, upload }: Pick<Heard, "now" | "upload">, reason: string): UpdateJob {
	const isReplaced = job.upload !== undefined && upload !== undefined && job.upload !== upload.sha256;
	const by = upload?.version ?? "another one";
	const note = isReplaced ? ` The upload was replaced by ${by} after this update was asked for.` : "";
	return move(job, { status: "failed", reason: reason + note, endedAt: now });
}

/** Sets values, and removes those of an earlier end. */
function move(job: UpdateJob, values: Pick<UpdateJob, "status"> & Partial<UpdateJob>): UpdateJob {
	const { silent: _silent, reason: _reason, endedAt: _endedAt, ...rest } = job;
	return { ...rest, ...values };
}

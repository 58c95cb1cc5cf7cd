/**
 * The life of one update, as a function from what was known and what was heard to what is known now. It never asks a
 * clock, a disk or a socket, so that every order in which a device can speak, fall silent and come back can be tried.
 *
 * pending → downloading → rebooting → updated | rolled_back | failed. The version that comes back decides.
 */

import type { StateReport, Uplink } from "../../device/protocol/messages.js";
import {
	boolean,
	integer,
	matches,
	object,
	oneOf,
	optional,
	text,
	type Value,
} from "../../device/protocol/schema.js";
import { type OtaMetadata, otaStatuses } from "../sessions/device.js";

const milliseconds = integer(0, Number.MAX_SAFE_INTEGER);

/** One update of one device, as it is kept on disk. */
export const updateJob = object({
	status: oneOf(...otaStatuses),
	/** Absent before the download began. */
	percent: optional(integer(0, 100)),
	/** What was sent; absent where that is not known. */
	version: optional(text(64)),
	/** What the device ran before; absent until it is known. */
	from: optional(text(32)),
	reason: optional(text(1200)),
	/** Since 1970. */
	startedAt: milliseconds,
	endedAt: optional(milliseconds),
	/** Given up because nothing was heard: what the device says later still counts. */
	silent: optional(boolean()),
});
export type UpdateJob = Value<typeof updateJob>;

/** The jobs of a device as they are kept on disk. */
export const jobsFile = Object.freeze({
	what: "updates",
	format: (jobs: readonly UpdateJob[]): string => `${JSON.stringify({ jobs }, null, "\t")}\n`,
	parse: (content: string): readonly UpdateJob[] | undefined => {
		const { jobs }: { readonly jobs?: unknown } = JSON.parse(content);
		const isJob = (job: unknown): job is UpdateJob => matches(updateJob, job);
		return Array.isArray(jobs) && jobs.every(isJob) ? jobs : undefined;
	},
});

/** An update of which nothing is heard for so long has failed. */
export const silenceMs = 5 * 60_000;

/** For so long new firmware may still give way to the former one: it has 2 minutes to prove itself, and then restarts. */
const probationMs = 5 * 60_000;

export interface Heard {
	/** Milliseconds since 1970. */
	readonly now: number;
	/** What the device runs, as far as is known. */
	readonly runs: string | null;
	/** Whether it has connected anew since the update last moved on. */
	readonly isNewSession: boolean;
}

export function beginJob({ now, runs }: Pick<Heard, "now" | "runs">, version: string | null): UpdateJob {
	return {
		status: "pending",
		startedAt: now,
		...(version !== null && { version }),
		...(runs !== null && { from: runs }),
	};
}

/** Whether the device is still busy with it. */
export function isActive(job: UpdateJob | undefined): job is UpdateJob {
	return job !== undefined && ["pending", "downloading", "rebooting"].includes(job.status);
}

/** Whether what the device says can still change it. */
export function isOpen(job: UpdateJob | undefined, uplink: Uplink, now: number): job is UpdateJob {
	if (job?.status === "updated") {
		if (uplink.type !== "state_report") return false;
		// When it started counts, not when it can say so: the line may have been down meanwhile.
		return now - uplink.health.uptime_seconds * 1000 - (job.endedAt ?? 0) < probationMs;
	}
	return job?.silent === true || isActive(job);
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
 * Takes in what the device says.
 *
 * @param job an open one
 * @returns the same object where that changes nothing
 */
export function advance(job: UpdateJob, uplink: Uplink, heard: Heard): UpdateJob {
	switch (uplink.type) {
		case "ota_progress":
			return download(job, uplink.percent);
		case "ota_complete":
			return job.status === "rebooting" ? job : move(job, { status: "rebooting", percent: 100 });
		case "ota_error":
			return fail(job, heard.now, uplink.reason || "The device gave no reason.");
		case "command_error":
			if (uplink.command !== "start_ota" || job.status !== "pending") return job;
			return fail(job, heard.now, `The device refused it (${uplink.code}): ${uplink.message}`);
		case "state_report":
			return judge(job, uplink, heard);
	}
}

/** Nothing was heard for `silenceMs`. */
export function giveUp(job: UpdateJob, now: number): UpdateJob {
	const stopped = `The download stopped at ${job.percent ?? 0} %`;
	const began = job.status === "rebooting" ? "The device did not come back" : stopped;
	const what = job.status === "pending" ? "The device did not begin" : began;
	return { ...fail(job, now, `${what}: nothing was heard of the update for 5 minutes.`), silent: true };
}

function download(job: UpdateJob, percent: number): UpdateJob {
	const furthest = Math.max(percent, job.percent ?? 0);
	if (job.status === "rebooting" || (job.status === "downloading" && furthest === job.percent)) return job;
	return move(job, { status: "downloading", percent: furthest });
}

/** What runs now, and whether the device came back with it. */
function judge(job: UpdateJob, report: StateReport, { now, isNewSession }: Heard): UpdateJob {
	const runs = report.system.firmware_version;
	if (job.status === "updated") {
		const isBack = isNewSession && runs === job.from && runs !== job.version;
		return isBack ? rollBack(job, report, now) : job;
	}
	const from = job.from ?? (isNewSession ? undefined : runs);
	if (runs === job.version && runs !== from) return succeed(job, runs, now);
	if (!isNewSession) return job.from === undefined ? { ...job, from: runs } : job;

	const hasRestarted = now - (report.health.uptime_seconds + 1) * 1000 > job.startedAt;
	const isOld = from === undefined || runs === from;
	if (!isOld && job.version === undefined) return succeed(job, runs, now);
	if (isOld && (job.status === "rebooting" || (job.percent === 100 && hasRestarted)))
		return runs === job.version ? succeed(job, runs, now) : rollBack(job, report, now);
	if (job.silent || (isOld && !hasRestarted)) return job;
	const what = isOld
		? `restarted in the middle of the update, at ${job.percent ?? 0} %`
		: `came back with ${runs}, which nobody sent to it here`;
	return fail(job, now, `The device ${what}.`);
}

function succeed(job: UpdateJob, version: string, endedAt: number): UpdateJob {
	return move(job, { status: "updated", percent: 100, version, endedAt });
}

function rollBack(job: UpdateJob, { system, health }: StateReport, endedAt: number): UpdateJob {
	const reason = `The device went back to ${system.firmware_version}; the new firmware ended with ${health.reset_reason}.`;
	return move(job, { status: "rolled_back", reason, endedAt });
}

function fail(job: UpdateJob, endedAt: number, reason: string): UpdateJob {
	return move(job, { status: "failed", reason, endedAt });
}

/** The job with these values, and without what an end had added to it. */
function move(job: UpdateJob, values: Pick<UpdateJob, "status"> & Partial<UpdateJob>): UpdateJob {
	const { silent: _silent, reason: _reason, endedAt: _endedAt, ...rest } = job;
	return { ...rest, ...values };
}

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Uplink } from "../../../device/protocol/messages.js";
import type { UpdateJob } from "../../../gateway/firmware/update-job.js";
import {
	applyUplink,
	createJob,
	isActive,
	jobsFile,
	metadataOf,
	timeOut,
} from "../../../gateway/firmware/update-job.js";
import { complete, failure, progress, report, uplink } from "./uplinks.js";

const start = 1_000_000;

type Step = Uplink | "reconnects" | "falls silent" | "5 minutes pass";

/** Result of an update from 1.3.0 to `version` after these device steps, one second apart. */
function after(
	version: string | null,
	steps: readonly Step[],
	runningVersion: string | null = "1.3.0",
	{ imageId, runningImageId }: { readonly imageId?: string; readonly runningImageId?: string } = {},
): UpdateJob {
	let job = createJob({ now: start, runningVersion, runningImageId }, { version, imageId });
	let now = start;
	let updatedAt = Number.NEGATIVE_INFINITY;
	let isNewSession = false;
	for (const step of steps) {
		now += 1000;
		if (step === "reconnects") isNewSession = true;
		else if (step === "5 minutes pass") now += 5 * 60_000;
		else if (step === "falls silent") job = timeOut(job, now);
		else if (typeof step !== "string") {
			const previous = JSON.stringify(metadataOf(job));
			const context = { now, runningVersion, isNewSession, upload: undefined };
			const jobs = applyUplink([job], step, {
				...context,
				ageMs: now - start,
				updatedAgoMs: now - updatedAt,
			});
			const next = jobs.at(-1) ?? job;
			assert.equal(jobs.length, 1);
			assert.ok((next.percent ?? 0) >= (job.percent ?? 0), `progress went backward from ${previous}`);
			isNewSession &&= next === job;
			if (next.status === "updated" && job !== next) updatedAt = now;
			job = next;
		}
	}
	return job;
}

const [old, fresh, other] = [report("1.3.0", 600), report("1.4.0"), report("1.2.0")];
const restartedOld = report("1.3.0", 0);

/** Steps and resulting status of updates from 1.3.0 to 1.4.0, or to and from the versions given. */
const cases: readonly (readonly [steps: readonly Step[], status: string, to?: string | null, from?: null])[] =
	[
		[[], "pending null 1.4.0"],
		[[old, old], "pending null 1.4.0"],
		[[progress(0), progress(7)], "downloading 7 1.4.0"],
		[[progress(50), progress(10)], "downloading 50 1.4.0"],
		[[progress(50), old, progress(60)], "downloading 60 1.4.0"],
		[[progress(99), complete], "rebooting 100 1.4.0"],
		[[complete, old], "rebooting 100 1.4.0"],
		[[complete, progress(100)], "rebooting 100 1.4.0"],
		[[progress(9), complete, "reconnects", fresh], "updated 100 1.4.0"],
		[[progress(9), complete, "reconnects", restartedOld], "rolled_back 100 1.4.0"],
		[[complete, "reconnects", report("v1.4.0+7")], "updated 100 1.4.0"],
		[[complete, "reconnects", other], "failed 100 1.4.0"],
		[[complete, "reconnects", fresh, fresh, "reconnects", restartedOld], "rolled_back 100 1.4.0"],
		[[complete, "reconnects", fresh, "reconnects", fresh], "updated 100 1.4.0"],
		[[complete, "reconnects", fresh, "reconnects", other], "updated 100 1.4.0"],
		[[complete, "reconnects", fresh, "5 minutes pass", "reconnects", restartedOld], "updated 100 1.4.0"],
		[
			[complete, "reconnects", fresh, "5 minutes pass", "reconnects", report("1.3.0", 200)],
			"rolled_back 100 1.4.0",
		],
		[[progress(98), "reconnects", fresh], "updated 100 1.4.0"],
		[["reconnects", fresh], "updated 100 1.4.0"],
		[[complete, fresh], "updated 100 1.4.0"],
		[[progress(100), "reconnects", restartedOld], "failed 100 1.4.0"],
		[[progress(40), "reconnects", old, progress(41)], "downloading 41 1.4.0"],
		[[progress(100), "reconnects", old, complete], "rebooting 100 1.4.0"],
		[[progress(40), "reconnects", restartedOld], "failed 40 1.4.0"],
		[["reconnects", restartedOld], "failed null 1.4.0"],
		[[complete, "reconnects", rejection("set_led"), fresh], "updated 100 1.4.0"],
		[[rejection("set_led")], "pending null 1.4.0"],
		[[progress(5), rejection("start_ota")], "downloading 5 1.4.0"],
		// It times out, but the device continues.
		[[progress(43), "falls silent", progress(44)], "downloading 44 1.4.0"],
		[[complete, "falls silent", "reconnects", fresh], "updated 100 1.4.0"],
		[[complete, "falls silent", "reconnects", restartedOld], "rolled_back 100 1.4.0"],
		// To the running version.
		[[old, progress(50), old], "downloading 50 1.3.0", "1.3.0"],
		[[complete, old], "rebooting 100 1.3.0", "1.3.0"],
		[[complete, "reconnects", restartedOld], "updated 100 1.3.0", "1.3.0"],
		[[progress(50), "reconnects", restartedOld], "failed 50 1.3.0", "1.3.0"],
		// To an unknown version.
		[[complete], "rebooting 100 null", null],
		[[complete, "reconnects", fresh], "updated 100 1.4.0", null],
		[[progress(9), "reconnects", fresh], "updated 100 1.4.0", null],
		[[complete, "reconnects", restartedOld], "rolled_back 100 null", null],
		// From an unknown version, which is that of the first report.
		[[old], "pending null 1.3.0", "1.3.0", null],
		[[old, complete, "reconnects", fresh], "updated 100 1.4.0", "1.4.0", null],
		[[complete, "reconnects", old], "rolled_back 100 1.4.0", "1.4.0", null],
		[[complete, "reconnects", fresh], "updated 100 1.4.0", "1.4.0", null],
	];

test("derives the state of an update from the messages of its device", () => {
	for (const [steps, expected, to = "1.4.0", from] of cases) {
		const { otaStatus, otaPercent, otaVersion } = metadataOf(after(to, steps, from));
		assert.equal([otaStatus, otaPercent, otaVersion].map(String).join(" "), expected, JSON.stringify(steps));
	}
	assert.equal(after("1.4.0", [old], null).from, "1.3.0");
});

test("names the cause of a failure, by the device or the last progress", () => {
	for (const [steps, reason] of [
		[[progress(9), failure("HTTP 404")], "HTTP 404"],
		[[failure("")], "The device reported no reason."],
		[[rejection("start_ota")], "The device rejected the update (busy): updating already"],
		[
			[complete, "reconnects", report("1.3.0", 1, "TASK_WDT_RESET")],
			"The device reverted to 1.3.0; the new firmware ended: hung (watchdog).",
		],
		[[progress(40), "reconnects", restartedOld], "The device restarted during the update, at 40 %."],
		[
			[progress(100), "reconnects", report("1.3.0", 0, "POWERON_RESET")],
			"The device restarted (POWERON_RESET) after 100 %, before it reported completion. It still runs 1.3.0.",
		],
		[[complete, "reconnects", other], "The device reconnected with 1.2.0, which this gateway did not send."],
		[["falls silent"], "The device did not start the update: no message for 5 minutes."],
		[[progress(43), "falls silent"], "The download stalled at 43 %: no message for 5 minutes."],
		[[complete, "falls silent"], "The device did not reconnect: no message for 5 minutes."],
	] as const satisfies readonly (readonly [readonly Step[], string])[]) {
		const job = after("1.4.0", steps);
		assert.deepEqual([metadataOf(job).otaReason, isActive(job)], [reason, false]);
		assert.equal(job.endedAt, start + 1000 * steps.length);
	}
});

describe("update to another image of the same version", () => {
	const [previous, sent, third] = ["0".repeat(16), "1".repeat(16), "2".repeat(16)] as const;
	const runs = (image: string | undefined, uptimeSeconds = 0) =>
		report("1.4.0", uptimeSeconds, "SW_RESET", image);
	/** State after the update was sent and the device came back with `image`. */
	function cameBack(image: string | undefined, ...steps: readonly Step[]) {
		const ids = { imageId: sent, runningImageId: previous };
		return after("1.4.0", [complete, "reconnects", runs(image), ...steps], "1.4.0", ids);
	}

	test("is decided by the image that the device runs, or by the version if it reports none", () => {
		assert.equal(cameBack(sent).status, "updated");
		assert.equal(cameBack(undefined).status, "updated");
		assert.equal(cameBack(previous).status, "rolled_back");
		assert.match(String(cameBack(previous).reason), /^The device reverted to 1\.4\.0/);
		assert.equal(cameBack(sent, "reconnects", runs(previous)).status, "rolled_back");
		const { status, reason } = cameBack(third);
		assert.equal(status, "failed");
		assert.match(String(reason), /reconnected with another image of 1\.4\.0, which this/);
	});
	test("learns the previous image from a report before the restart", () => {
		const steps: readonly Step[] = [runs(previous, 600), complete, "reconnects", runs(previous)];
		const job = after("1.4.0", steps, "1.4.0", { imageId: sent });
		assert.deepEqual([job.fromImageId, job.status], [previous, "rolled_back"]);
	});
	test("is updated again with the image that it runs already", () => {
		const ids = { imageId: sent, runningImageId: sent };
		assert.equal(after("1.4.0", [complete, "reconnects", runs(sent)], "1.4.0", ids).status, "updated");
	});
});

test("keeps the reason of a timeout if the device returns with another version, and removes it at progress", () => {
	assert.equal(after("1.4.0", [progress(43), "falls silent", progress(44)]).reason, undefined);
	for (const back of [restartedOld, other, old]) {
		const { reason } = after("1.4.0", [progress(43), "falls silent", "reconnects", back]);
		assert.match(String(reason), /stalled at 43 %/);
	}
});

test("reads no job with a time outside the range of Date, but one before 1970", () => {
	const parse = (startedAt: number) => jobsFile.parse({ jobs: [{ status: "pending", startedAt }] })?.length;
	assert.deepEqual([parse(-5000), parse(8.64e15), parse(8.64e15 + 1)], [1, 1, undefined]);
});

function rejection(command: string): Uplink {
	const message = "updating already";
	return uplink({ type: "command_error", deviceId: "dev-1-a1b2c3", command, code: "busy", message });
}

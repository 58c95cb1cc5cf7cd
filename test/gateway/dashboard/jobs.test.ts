import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CommandPart } from "../../../gateway/api/command.js";
import { commandStates } from "../../../gateway/api/statuses.js";
import { Jobs } from "../../../gateway/dashboard/page/app/jobs.js";
import { type Plan, runPlan } from "../../../gateway/dashboard/page/app/plan.js";
import { commandKind, Job } from "../../../gateway/dashboard/page/model/job.js";

const at = "2026-11-23T18:00:00.000Z";
const part = (deviceId: string, state: CommandPart["state"], reason: string | null = null): CommandPart => ({
	deviceId,
	state,
	reason,
	at,
});

test("counts all devices of a job, including those without a frame", () => {
	const job = new Job({ title: "Identify", kind: commandKind, createdAt: at, cancel: () => {} });
	const none = { failed: 0, unsupported: 0, away: 0, cancelled: 0, asked: 0, waiting: 0, done: 0 };
	job.merge([part("a", "asked")], { ...none, asked: 1, waiting: 2 });
	assert.equal(job.text, "Sent to 1, 2 queued");
	assert.deepEqual([job.count(), job.count("asked", "waiting"), job.isRunning], [3, 3, true]);
	job.merge([part("c", "done"), part("b", "failed", "No."), part("a", "done")], {
		...none,
		failed: 1,
		done: 2,
	});
	assert.equal(job.text, "1 failed, 2 done");
	assert.equal(job.isRunning, false);
	const deviceIds = job.parts.map(({ deviceId }) => deviceId);
	assert.deepEqual(deviceIds, ["b", "a", "c"]);
	assert.deepEqual(Object.keys(commandKind.words), [...commandStates], "order of the gateway");
});

interface JobsOptions {
	readonly start?: () => Promise<{ readonly id: string }>;
	readonly onDone?: (job: Job) => void;
}

function createJobs({ start = async () => ({ id: "" }), ...options }: JobsOptions = {}) {
	return new Jobs<CommandPart, unknown, never, undefined>({
		requests: {
			start,
			list: async () => [],
			read: () => Promise.reject(new Error("not read")),
			stop: async () => {},
		},
		kind: commandKind,
		titleOf: () => "Restart",
		isShown: () => true,
		now: () => 0,
		onChanged: () => {},
		...options,
	});
}

const counts = { failed: 0, unsupported: 0, away: 0, cancelled: 0, asked: 1, waiting: 0, done: 0 };
const change = { id: "1", by: null, createdAt: at, counts, devices: [part("a", "asked")], isOver: false };

test("does not reopen a dismissed job on a late message", () => {
	const jobs = createJobs();
	jobs.onUpdate(change);
	assert.equal(jobs.all.length, 1);
	jobs.dismiss("1");
	jobs.onUpdate({ ...change, devices: [part("a", "cancelled")], isOver: true });
	assert.deepEqual(jobs.all, []);
});

test("confirms a job once, with its undo, even if it ends before the gateway returns its id", async () => {
	let respond = (_: { readonly id: string }) => {};
	const confirmed: [string, unknown][] = [];
	const jobs = createJobs({
		start: () => new Promise((resolve) => (respond = resolve)),
		onDone: (job) => confirmed.push([job.doneText, job.undo]),
	});
	const undo = () => {};
	const started = jobs.start(undefined, undo);
	const end = {
		...change,
		counts: { ...counts, asked: 0, done: 1 },
		devices: [part("a", "done")],
		isOver: true,
	};
	jobs.onUpdate(end);
	assert.deepEqual(confirmed, []);
	respond({ id: "1" });
	await started;
	jobs.onUpdate(end);
	assert.deepEqual(confirmed, [["Restart: 1 device", undo]]);
});

describe("change of each device", () => {
	function begin(plan: Partial<Plan> = {}) {
		const ends: ((reason: string | null) => void)[] = [];
		const asked: string[] = [];
		const job = runPlan(
			{
				title: "New tokens",
				keys: ["a", "b", "c", "d"],
				atATime: 2,
				change: (key) => {
					asked.push(key);
					return new Promise<void>((resolve, reject) =>
						ends.push((reason) => (reason === null ? resolve() : reject(new Error(reason)))),
					);
				},
				...plan,
			},
			() => {},
		);
		const end = async (reason: string | null) => {
			ends.shift()?.(reason);
			await new Promise(setImmediate);
		};
		return { job, asked, end };
	}

	test("runs on a few devices at a time, to the end", async () => {
		const { job, asked, end } = begin();
		assert.deepEqual([asked, job.text], [["a", "b"], "Sent to 2, 2 queued"]);
		await end(null);
		assert.deepEqual([asked, job.text], [["a", "b", "c"], "Sent to 2, 1 queued, 1 done"]);
		for (const reason of ["It is away.", null, null]) await end(reason);
		assert.equal(job.text, "1 failed, 3 done");
		assert.equal(job.isRunning, false);
	});

	test("stops after a failure on request, or when canceled", async () => {
		const stopped = begin({ stopsAtFailure: true });
		await stopped.end("It does not answer.");
		assert.deepEqual([stopped.asked, stopped.job.text], [["a", "b"], "1 failed, 2 canceled, sent to 1"]);
		const cancelled = begin();
		cancelled.job.options.cancel();
		await cancelled.end(null);
		assert.deepEqual(cancelled.asked, ["a", "b"]);
		assert.equal(cancelled.job.text, "2 canceled, sent to 1, 1 done");
	});

	test("reports an error by its message", async () => {
		const { job } = begin({ keys: ["a"], change: () => Promise.reject(new Error("The disk is full.")) });
		await new Promise(setImmediate);
		assert.equal(job.parts[0]?.reason, "The disk is full.");
	});
});

/** Execution of schedules, in virtual time. */

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { ScheduleRequest } from "../../../gateway/api/schedule.js";
import { RequestError } from "../../../gateway/problem.js";
import { type CreateRecords, Records } from "../../../gateway/storage/records.js";
import { changingDisk, systemError } from "../../support/disk.js";
import { emptyEngine } from "../../support/record-stubs.js";
import { type RunOptions, runSchedules } from "./run.js";

const noon = "2026-11-27T12:00:00Z";
const minuteMs = 60_000;
const payload = { command: "set_volume", value: 80 } as const;
const volume = { targets: { devices: ["dev-1-000001"] }, payload };
const loud = { command: volume };
const daily = { at: { weekly: { time: "18:00" } }, do: loud };
const missedReason = "No gateway could run it within 5 minutes of its due time.";

/** Starts at noon, and passes the time in which devices reconnect. */
async function runSettled(t: TestContext, options: RunOptions = {}) {
	const running = await runSchedules(t, noon, options);
	running.settle();
	return running;
}

describe("schedule", () => {
	test("runs at its time of day on its days", async (t) => {
		const { schedules, clock, jobs, make, until, ended, find } = await runSettled(t);
		const at = { weekly: { time: "17:50", days: ["mon", "fri"] } } as const;
		const id = await make({ name: "Closing", at, do: loud });
		const shown = { id, name: "Closing", at, do: loud, on: true, zone: "Europe/Berlin", by: "anna" };
		const createdAt = "2026-11-27T12:00:10.000Z";
		assert.deepEqual(find(id), { ...shown, createdAt, nextAt: "2026-11-27T16:50:00.000Z", last: null });
		clock.passTo("2026-11-27T16:49:59.999Z");
		schedules.tick();
		assert.equal(jobs.begun.length, 0);
		clock.pass(1);
		// Remains due.
		await schedules.change(id, { name: "Closing", at, do: loud }, loud, "anna");
		const { last, nextAt } = await ended(id);
		const dueAt = "2026-11-27T16:50:00.000Z";
		const job = last?.job;
		assert.deepEqual(last, { dueAt, at: dueAt, outcome: "done", reason: null, job });
		assert.equal(nextAt, "2026-11-30T16:50:00.000Z");
		assert.deepEqual(jobs.begun, [{ id: job, body: volume, by: "anna" }]);
		clock.passTo("2026-11-30T16:50:00Z");
		await until(() => jobs.begun.length === 2);
		assert.notEqual(jobs.begun[1]?.id, job);
	});

	test("runs once as a timer, stays listed for a day, and is then removed", async (t) => {
		const { schedules, clock, jobs, make, ended, until } = await runSettled(t);
		const id = await make({ at: { in: 720 }, do: loud });
		assert.equal(schedules.list()[0]?.nextAt, "2026-11-27T12:12:10.000Z");
		clock.pass(720_000);
		const { last, nextAt } = await ended(id);
		assert.deepEqual([last?.outcome, nextAt], ["done", null]);
		clock.passTo("2026-11-28T12:12:09Z");
		schedules.tick();
		assert.equal(schedules.list().length, 1);
		clock.pass(1_000);
		await until(() => schedules.list().length === 0);
		assert.equal(jobs.begun.length, 1);
	});

	for (const time of ["2026-11-27T14:00:00", "2026-11-27T10:00:00"])
		test(`keeps the duration of a timer if the clock is set to ${time}`, async (t) => {
			const { clock, make, ended, until, find } = await runSettled(t);
			const [soon, later] = [
				await make({ at: { in: 2 }, do: loud }),
				await make({ at: { in: 720 }, do: loud }),
			];
			clock.set(`${time}Z`);
			clock.pass(2_000);
			const { last } = await ended(soon);
			assert.deepEqual([last?.outcome, last?.dueAt], ["done", `${time.replace(/00$/, "02")}.000Z`]);
			await until(() => find(later)?.nextAt === `${time.replace(/00:00$/, "12:00")}.000Z`);
		});

	test("runs daily after the clock was days ahead, and not twice if hours", async (t) => {
		const { clock, jobs, make, ended, until, find } = await runSettled(t);
		const id = await make(daily);
		const next = (day: number) => until(() => find(id)?.nextAt === `2026-11-${day}T17:00:00.000Z`);
		clock.set("2026-11-27T17:01:00Z");
		await ended(id);
		clock.set("2026-11-27T16:59:59Z");
		const timer = await make({ at: { in: 2 }, do: loud });
		clock.pass(2_000);
		await ended(timer);
		await next(28);
		clock.set("2026-11-29T18:00:00Z");
		await next(30);
		clock.set("2026-11-27T18:00:00Z");
		await next(28);
		assert.equal(jobs.begun.length, 2);
	});

	test("runs once at a local time, or at a changed one, and never while disabled or deleted", async (t) => {
		const { schedules, clock, jobs, make, ended, find } = await runSettled(t);
		const once: ScheduleRequest = { at: { once: "2026-11-27T18:00" }, do: loud };
		const [off, gone] = [await make({ ...once, on: false }), await make(once)];
		const changed = await make(once);
		await schedules.store.remove(gone);
		const later: ScheduleRequest = { at: { once: "2026-11-27T18:30" }, do: loud };
		const { nextAt, createdAt } = await schedules.change(changed, later, loud, "ben");
		assert.deepEqual([nextAt, createdAt], ["2026-11-27T17:30:00.000Z", "2026-11-27T12:00:10.000Z"]);
		const last = await make({ at: { once: "2026-11-27T18:01" }, do: loud });
		clock.passTo("2026-11-27T17:01:00Z");
		assert.equal((await ended(last)).nextAt, null);
		assert.equal(jobs.begun.length, 1);
		clock.passTo("2026-11-27T17:30:00Z");
		await ended(changed);
		assert.deepEqual(jobs.begun[1]?.by, "ben");
		assert.deepEqual([find(off)?.nextAt, find(off)?.last], [null, null]);
	});

	for (const [what, send, reason] of [
		["is rejected", () => Promise.reject(new RequestError(422, "No device.")), "No device."],
		["cannot be sent", async () => "No sound.", "No sound."],
		["fails", () => Promise.reject(new Error("planted")), "Starting it failed. See the gateway's log."],
	] as const)
		test(`fails and is reported if its job ${what}`, async (t) => {
			const { clock, jobs, told, make, ended, until } = await runSettled(t);
			jobs.send = send;
			const id = await make({ ...daily, name: "Dinner" });
			clock.passTo("2026-11-27T17:00:00Z");
			const { last, nextAt } = await ended(id);
			assert.deepEqual([last?.outcome, last?.reason, last?.job], ["failed", reason, null]);
			assert.equal(nextAt, "2026-11-28T17:00:00.000Z");
			await until(() => told.length > 0);
			const dueAt = "2026-11-27T17:00:00.000Z";
			const event = { id, name: "Dinner", outcome: "failed", dueAt, reason };
			assert.deepEqual(told, [event]);
		});

	test("follows the new name of its room, and the replacement of its board", async (t) => {
		const { schedules, make, find } = await runSchedules(t, noon);
		const announcement = { url: "http://10.0.0.1/a.wav", targets: { room: "Kitchen" } };
		const action = { announcement };
		const { id: inRoom } = await schedules.create({ at: daily.at, do: action }, action, "anna");
		const targets = { devices: ["dev-1-000001", "dev-1-000002", "dev-1-000003"] };
		const ofBoards = await make({ ...daily, do: { command: { ...volume, targets } } });
		await schedules.renameRoom("Kitchen", "Hall");
		await schedules.renameRoom("Attic", "Lounge");
		await schedules.replaceDevice("dev-1-000001", "dev-1-000002");
		assert.deepEqual(find(inRoom)?.do.announcement?.targets, { room: "Hall" });
		assert.deepEqual(find(ofBoards)?.do.command?.targets, { devices: ["dev-1-000002", "dev-1-000003"] });
	});

	test("is rejected with two times or actions, in the past, without its extension, and above 200", async (t) => {
		const records: CreateRecords = (kind) => new Records({ ...kind, engine: emptyEngine() });
		const { schedules, make } = await runSchedules(t, noon, { records });
		const announcement = { url: "http://10.0.0.1/a.wav", targets: { all: true } };
		for (const [change, reason] of [
			[{ at: { in: 10, ...daily.at } }, /^at is one of/],
			[{ do: { ...loud, announcement } }, /^do is either/],
			[{ do: { announcement } }, /^do\.announcement: not supported/],
			[{ at: { once: "2026-11-27T12:59" } }, /is in the past/],
			[{ at: { once: "2027-02-30T12:00" } }, /is in the past or nonexistent/],
		] as const)
			await assert.rejects(make({ ...daily, ...change }), { message: reason });
		for (let count = 0; count < 200; count += 1) await make(daily);
		await assert.rejects(make(daily), ({ rejection }: RequestError) => rejection.status === 409);
		assert.equal(schedules.list().length, 200);
	});

	test("is neither created nor deleted on a full disk, but changed, and a timer still runs", async (t) => {
		let isFull = false;
		const disk = changingDisk(() => {
			if (isFull) throw systemError("ENOSPC");
		});
		const { schedules, clock, make, ended, find } = await runSettled(t, { disk });
		const [kept, timer] = [await make(daily), await make({ at: { in: 2 }, do: loud })];
		isFull = true;
		const is507 = ({ rejection }: RequestError) => rejection.status === 507;
		await assert.rejects(make(daily), is507);
		await assert.rejects(schedules.change(kept, { ...daily, name: "Closing" }, loud, "ben"), is507);
		await assert.rejects(schedules.store.remove(kept), is507);
		assert.deepEqual(new Set(schedules.list().map(({ id }) => id)), new Set([kept, timer]));
		assert.equal(find(kept)?.name, "Closing");
		clock.pass(2_000);
		assert.equal((await ended(timer)).last?.outcome, "done");
		isFull = false;
		await schedules.store.remove(kept);
	});
});

describe("schedule after a restart", () => {
	test("waits for devices to reconnect, runs late within 5 minutes, and is missed after", async (t) => {
		const first = await runSchedules(t, noon);
		const late = await first.make({ at: { in: 3600 }, do: loud });
		const missed = await first.make({ name: "Early", at: { weekly: { time: "13:58" } }, do: loud });
		const before = first.schedules.list();
		await first.close();
		const { dataDir } = first;
		const second = await runSchedules(t, "2026-11-27T13:04:00Z", { dataDir });
		second.clock.pass(9_999);
		second.schedules.tick();
		assert.deepEqual([second.schedules.list(), second.jobs.begun], [before, []]);
		second.clock.pass(1);
		const done = await second.ended(late);
		assert.deepEqual([done.last?.outcome, done.nextAt], ["late", null]);
		const { last, nextAt } = await second.ended(missed);
		const dueAt = "2026-11-27T12:58:00.000Z";
		assert.deepEqual([last?.outcome, last?.dueAt, last?.reason], ["missed", dueAt, missedReason]);
		assert.equal(nextAt, "2026-11-28T12:58:00.000Z");
		await second.until(() => second.told.length > 0);
		const event = { id: missed, name: "Early", outcome: "missed" };
		assert.deepEqual(second.told, [{ ...event, dueAt, reason: missedReason }]);
		assert.equal(second.jobs.begun.length, 1);
	});

	test("in another time zone keeps its local time; a due time that has passed still counts", async (t) => {
		const first = await runSchedules(t, noon, { zone: "UTC" });
		const ids: string[] = [];
		for (const at of [
			{ weekly: { time: "17:50" } },
			{ once: "2026-11-28T07:30" },
			{ in: 86_400 },
			{ once: "2026-11-27T13:30" },
			{ weekly: { time: "12:01" } },
		])
			ids.push(await first.make({ at, do: loud }));
		await first.close();
		const { dataDir } = first;
		const second = await runSchedules(t, "2026-11-27T12:50:00Z", { dataDir });
		second.settle();
		const [, , , once = "", weekly = ""] = ids;
		const due = [await second.ended(once), await second.ended(weekly)].map(({ last }) => last?.dueAt);
		assert.deepEqual(due, ["2026-11-27T12:30:00.000Z", "2026-11-27T12:01:00.000Z"]);
		const next = ["2026-11-27T16:50", "2026-11-28T06:30", "2026-11-28T12:00", undefined, "2026-11-28T11:01"];
		const times = ids.map((id) => second.find(id)?.nextAt?.slice(0, 16));
		assert.deepEqual(times, next);
		for (const { zone } of second.schedules.list()) assert.equal(zone, "Europe/Berlin");
	});

	test("reports several missed times once, and runs if the latest is recent", async (t) => {
		const first = await runSchedules(t, "2026-11-20T12:00:00Z");
		const id = await first.make({ at: { weekly: { time: "13:30" } }, do: loud });
		await first.close();
		const { dataDir } = first;
		const second = await runSchedules(t, "2026-11-27T12:31:00Z", { dataDir });
		second.settle();
		const { last, nextAt } = await second.ended(id, "2026-11-27T12:30:00.000Z");
		assert.deepEqual([last?.outcome, nextAt], ["late", "2026-11-28T12:30:00.000Z"]);
		const told = second.told.map(({ outcome, dueAt }) => [outcome, dueAt]);
		assert.deepEqual(told, [["missed", "2026-11-20T12:30:00.000Z"]]);
	});

	for (const [awayMs, outcome, times] of [
		[10_000, "late", 1],
		[6 * minuteMs, "missed", 0],
	] as const)
		test(`is ${outcome} if the gateway stopped for ${awayMs / 1000} s before its outcome`, async (t) => {
			const first = await runSchedules(t, noon);
			first.settle();
			first.jobs.send = () => new Promise(() => {});
			const id = await first.make({ at: { in: 60 }, do: loud });
			first.clock.pass(60_000);
			await first.until(() => first.jobs.begun.length === 1);
			await first.close();
			first.clock.pass(awayMs);
			const second = await runSchedules(t, first.clock, { dataDir: first.dataDir });
			const pass = (ms: number) => {
				second.clock.pass(ms);
				second.schedules.tick();
			};
			second.jobs.isKnown = true;
			for (const ms of [0, 14_999]) pass(ms);
			assert.equal(second.jobs.asked, 0, "taken over too early");
			pass(1);
			await second.until(() => true);
			assert.deepEqual([second.jobs.asked, second.jobs.begun], [times, []]);
			second.jobs.isKnown = false;
			await second.until(() => {
				second.clock.pass(15_000);
				return second.find(id)?.last;
			});
			const { last } = await second.ended(id);
			assert.equal(last?.outcome, outcome);
			await second.until(() => second.told.length === 1 - times);
			const idsOf = ({ jobs }: typeof first) => jobs.begun.map(({ id }) => id);
			assert.deepEqual(idsOf(second), idsOf(first).slice(0, times));
		});
});

test("a schedule follows a clock that is set back while its job is prepared", async (t) => {
	const { clock, jobs, make, until, find } = await runSettled(t);
	let end = () => {};
	jobs.send = () =>
		new Promise((resolve) => {
			end = () => resolve(null);
		});
	const id = await make(daily);
	clock.passTo("2026-11-27T17:00:00Z");
	await until(() => jobs.begun.length === 1);
	clock.set("2026-11-20T12:00:00Z");
	await until(() => true);
	end();
	await until(() => find(id)?.nextAt === "2026-11-20T17:00:00.000Z");
});

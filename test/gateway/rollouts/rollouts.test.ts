import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { countsOf } from "../../../gateway/api/rollout.js";
import type { RequestError } from "../../../gateway/problem.js";
import { queued } from "../../../gateway/rollouts/device-step.js";
import { firstHead } from "../../../gateway/rollouts/machine.js";
import { at, inOneGroup, minute, run, second, smallest } from "./run.js";
import { startedAt } from "./simulated-fleet.js";

const patient = { ...smallest, groups: [{ size: "rest", errorThreshold: { count: 9 } }] };

test("updates a device once the catalog contains its firmware again", async (t) => {
	const { gateway, releases, pass, statuses } = await run(t, "fine");
	releases.rejection = { code: "unknown_version", message: "The release is missing." };
	await gateway.rollouts.put("x", inOneGroup);
	await pass(15 * second);
	assert.deepEqual(statuses(), ["queued"]);
	releases.rejection = undefined;
	await pass(5 * minute);
	assert.deepEqual(statuses(), ["succeeded"]);
});

test("counts no attempt and no failure if a busy device rejects the update", async (t) => {
	const { gateway, first, pass, statuses } = await run(t, "fine");
	first.rejections = 3;
	await gateway.rollouts.put("x", { ...inOneGroup, maxAttempts: 1 });
	await pass(10 * minute);
	assert.deepEqual([statuses(), first.offers], [["succeeded"], 4]);
});

test("sends patches only to supporting devices with a matching version, at each attempt", async (t) => {
	const { gateway, devices, pass } = await run(t, "fine", "fine", "fine", "restarts once");
	for (const [index, device] of devices.entries()) {
		device.leave();
		if (index !== 1) device.features = ["quiet", "delta"];
		if (index === 2) device.version = "0.9.0";
		device.turnOn(gateway);
	}
	await gateway.rollouts.put("x", inOneGroup);
	await pass(5 * minute);
	const patched = devices.map(({ patched, version }) => `${version} ${patched}`);
	assert.deepEqual(patched, ["2.0.0 true", "2.0.0 false", "2.0.0 false", "2.0.0 true,true"]);
});

describe("soak time", () => {
	test("is shown, and continues after a restart without notifying monitors of the loaded rollout", async (t) => {
		const { gateway, pass, restart, statuses, headOf, until } = await run(t, "fine");
		const { rollouts } = gateway;
		await rollouts.put("x", inOneGroup);
		const leftIn = (owner: typeof rollouts) => owner.soakSecondsLeft(owner.find("x"));
		assert.equal(leftIn(rollouts), null);
		await until(() => statuses()[0] === "soaking");
		assert.equal(leftIn(rollouts), 180);
		await pass(20 * second);
		assert.equal(leftIn(rollouts), 160);
		const latest = await restart();
		// Counted from its latest step, because the downtime is unknown.
		assert.equal(leftIn(latest.rollouts), 180);
		await pass(179 * second);
		assert.deepEqual([statuses(), latest.frames], [["soaking"], []]);
		await pass(second);
		const ended = [leftIn(latest.rollouts), ...statuses(), headOf().status];
		assert.deepEqual(ended, [null, "succeeded", "finished"]);
	});

	const hour = 60 * minute;
	for (const [when, fate, awayMs, before, after, end] of [
		["a restart with an earlier clock", "fine", 0, 0, -hour, "succeeded"],
		["a restart with the right clock, which was behind in the run before", "fine", 0, -hour, 0, "succeeded"],
		["an hour of downtime", "fine", hour, 0, 0, "succeeded"],
		["an hour of downtime, unless the device goes back", "goes back", hour, 0, 0, "rolled_back"],
	] as const)
		test(`is kept after ${when}`, async (t) => {
			const { gateway, time, pass, statuses, restart } = await run(t, fate);
			await gateway.rollouts.put("x", inOneGroup);
			time.skewMs = before;
			await restart();
			await pass(20 * second);
			assert.deepEqual(statuses(), ["soaking"]);
			time.skewMs = after;
			await restart(awayMs);
			if (fate === "fine") {
				await pass(165 * second);
				assert.deepEqual(statuses(), ["soaking"]);
			}
			await pass(35 * second);
			assert.deepEqual(statuses(), [end]);
		});
});

test("tells when a device whose attempt failed is tried again, unless it is offline", async (t) => {
	const { gateway, first, time, pass, until } = await run(t, "restarts once");
	const { rollouts } = gateway;
	await rollouts.put("x", inOneGroup);
	const retries = () => rollouts.retriesOf(rollouts.find("x"));
	assert.deepEqual(retries(), { retrying: 0, retryAt: null });
	await until(() => retries().retryAt !== null);
	const { retrying, retryAt } = retries();
	const delay = (retryAt ?? 0) - startedAt - time.now;
	assert.equal(retrying, 1);
	assert.ok(delay > 0 && delay <= minute, `in ${delay} ms`);
	first.leave();
	await pass(second);
	assert.deepEqual(retries(), { retrying: 1, retryAt: null });
});

test("updates a device interrupted by a kill, even after a restart with an earlier clock", async (t) => {
	const { gateway, first, time, pass, statuses, restart } = await run(t, "fine");
	first.isDeaf = true;
	await gateway.rollouts.put("x", inOneGroup);
	await pass(second);
	time.skewMs = -60 * minute;
	await restart();
	first.isDeaf = false;
	await pass(10 * minute);
	assert.deepEqual(statuses(), ["succeeded"]);
});

test("pauses on failures in the canary, even while the clock is before its start, and continues on resume", async (t) => {
	const fates = ["never succeeds", "goes back", "fine", "fine"] as const;
	const { gateway, time, pass, statuses, headOf } = await run(t, ...fates);
	await gateway.rollouts.put("x", { ...smallest, maxAttempts: 1, groups: [{ size: 2 }, { size: "rest" }] });
	time.skewMs = -60 * minute;
	await pass(10 * minute);
	assert.deepEqual(statuses(), ["failed", "rolled_back", "queued", "queued"]);
	assert.deepEqual([headOf().status, headOf().pausedBecause], ["paused", "failures"]);
	await gateway.rollouts.execute("x", "resume", headOf().revision);
	await pass(10 * minute);
	assert.deepEqual([statuses().slice(2), headOf().status], [["succeeded", "succeeded"], "finished"]);
});

test("retries a failed update after 30 to 60 s, and times out a silent one", async (t) => {
	const { gateway, devices, pass, statuses } = await run(t, "restarts once", "never succeeds", "is silent");
	await gateway.rollouts.put("x", patient);
	const offers = () => devices.map((device) => device.offers);
	await pass(35 * second);
	assert.deepEqual(offers(), [1, 1, 1], "none again before 30 s");
	await pass(35 * second);
	assert.deepEqual(offers(), [2, 2, 1]);
	await pass(10 * minute);
	assert.deepEqual(statuses(), ["succeeded", "failed", "timed_out"]);
	const reasons = [...gateway.rollouts.find("x").devices.values()].map(({ reason }) => reason ?? "");
	assert.equal(reasons[1], "The image is damaged.");
	assert.match(reasons[2] ?? "", /no message for 5 minutes/);
	await gateway.rollouts.execute("x", "retry", undefined);
	assert.deepEqual(statuses().slice(1), ["offered", "queued"]);
});

test("counts a device that timed out and returns with the new firmware, even after its end", async (t) => {
	const { gateway, first, pass, statuses, headOf } = await run(t, "is silent", "is silent");
	await gateway.rollouts.put("x", patient);
	await pass(6 * minute);
	assert.deepEqual([statuses(), headOf().status], [["timed_out", "timed_out"], "finished"]);
	first.version = "2.0.0";
	first.turnOn(gateway);
	await pass(4 * minute);
	assert.deepEqual([statuses(), headOf().status], [["succeeded", "timed_out"], "finished"]);
});

test("is not blocked by an offline device, which starts within 10 s of its return", async (t) => {
	const { gateway, first, pass, statuses } = await run(t, "fine", "fine", "fine");
	first.leave();
	const groups = [1, "rest"].map((size) => ({ size, soakSeconds: 0 }));
	await gateway.rollouts.put("x", { ...smallest, groups });
	await pass(5 * minute);
	assert.deepEqual(statuses(), ["succeeded", "succeeded", "queued"]);
	const canary = gateway.rollouts.find("x").devices.get("dev-1-1");
	assert.equal(canary?.group, 0, "it is one that is there");
	first.turnOn(gateway);
	await pass(11 * second);
	assert.equal(first.offers, 1);
	await pass(minute);
	assert.deepEqual(statuses(), ["succeeded", "succeeded", "succeeded"]);
});

test("starts nothing before the start, outside the window or after the deadline", async (t) => {
	const { gateway, first, pass, statuses, headOf } = await run(t, "fine", "fine");
	first.leave();
	// The timeline begins on Tuesday, 14 November 2023, at 22:13 UTC, an hour behind Berlin.
	const window = { days: ["wed"], from: "00:00", to: "00:30", timeZone: "Europe/Berlin" };
	const limits = { startsAt: at(10 * minute), deadline: at(120 * minute), window };
	await gateway.rollouts.put("x", { ...inOneGroup, ...limits });
	assert.equal(headOf().status, "scheduled");
	await pass(10 * minute);
	assert.equal(headOf().status, "running");
	await pass(36 * minute, 10 * second);
	assert.deepEqual(statuses(), ["queued", "queued"]);
	await pass(10 * minute, 10 * second);
	assert.deepEqual(statuses(), ["succeeded", "queued"]);
	await pass(30 * minute, 10 * second);
	first.turnOn(gateway);
	await pass(minute);
	assert.equal(first.offers, 0, "the window is closed");
	await pass(40 * minute, 10 * second);
	assert.deepEqual([statuses(), headOf().status], [["succeeded", "timed_out"], "finished"]);
	await assert.rejects(gateway.rollouts.execute("x", "retry", undefined), {
		message: "The deadline of the rollout has passed. Create a new rollout.",
	});
});

test("starts nothing after a cancel, and completes updates in progress", async (t) => {
	const { gateway, pass, statuses, headOf } = await run(t, "fine", "restarts once", "fine");
	await gateway.rollouts.put("x", { ...smallest, groups: [{ size: "rest", concurrency: 2 }] });
	await gateway.rollouts.execute("x", "cancel", undefined);
	await assert.rejects(gateway.rollouts.put("y", inOneGroup), /dev-1-0 is in rollout x/);
	await pass(10 * minute);
	assert.deepEqual([statuses(), headOf().status], [["succeeded", "failed", "cancelled"], "cancelled"]);
	const { isNew } = await gateway.rollouts.put("y", inOneGroup);
	assert.ok(isNew, "its devices are free again");
});

test("updates a device in two concurrent rollouts by one of them", async (t) => {
	const { gateway, devices, pass, statuses } = await run(t, "fine", "fine");
	await gateway.rollouts.put("x", { ...inOneGroup, target: { devices: ["dev-1-0"] } });
	const both = new Map(["dev-1-0", "dev-1-1"].map((id) => [id, queued(id, startedAt)]));
	const other = { ...gateway.rollouts.find("x"), id: "y", head: firstHead, devices: both };
	assert.equal(await gateway.store.create(other), true);
	await pass(minute);
	assert.deepEqual([statuses("x"), statuses("y")], [["soaking"], ["already_installed", "soaking"]]);
	await pass(4 * minute);
	assert.deepEqual([statuses("x"), statuses("y")], [["succeeded"], ["already_installed", "succeeded"]]);
	const offers = devices.map(({ offers }) => offers);
	assert.deepEqual(offers, [1, 1]);
});

test("notifies monitors of each change, at most once a second", async (t) => {
	const { gateway, pass } = await run(t, ...Array.from({ length: 30 }, () => "fine" as const));
	const groups = [{ size: "rest", concurrency: 3, soakSeconds: 1 }];
	await gateway.rollouts.put("x", { ...smallest, groups });
	for (let round = 0; round < 30; round++) {
		await gateway.rollouts.execute("x", round % 2 === 0 ? "pause" : "resume", undefined);
		await pass(100, 100);
	}
	await pass(5 * minute, 100);
	const { frames } = gateway;
	const gaps = frames.slice(1).map((frame, index) => frame.at - (frames[index]?.at ?? 0));
	assert.ok(frames.length > 30, `${frames.length} frames`);
	assert.ok(Math.min(...gaps) >= second, `${Math.min(...gaps)} ms between two frames`);
	const { devices } = gateway.rollouts.find("x");
	assert.deepEqual(frames.at(-1)?.counts, countsOf(devices.values()));
	assert.equal(frames.at(-1)?.counts.succeeded, 30);
});

test("keeps 20 rollouts, and evicts the oldest completed one for a new one", async (t) => {
	const { gateway, disk, time } = await run(t, "fine");
	const { rollouts } = gateway;
	const add = async (id: string) => {
		time.pass(1);
		await rollouts.put(id, { ...inOneGroup, startsAt: at(minute) });
		await rollouts.execute(id, "cancel", undefined);
	};
	for (let index = 0; index < 21; index++) await add(`r${index}`);
	assert.equal(rollouts.list().length, 20);
	assert.throws(() => rollouts.find("r0"), { message: /not found/ });
	disk.dieAt = disk.steps + 1;
	await assert.rejects(add("r21"), ({ rejection }: RequestError) => rejection.status === 507);
	assert.equal(rollouts.find("r1").head.status, "cancelled");
});

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { at, minute, run, second } from "./run.js";
import type { SimulatedDevice, SimulatedGateway } from "./simulated-fleet.js";

const next = "2.1.0";
const all = [{ size: "rest", soakSeconds: 0 }];
const channel = { firmware: { channel: "beta" }, target: { all: true }, standing: true, groups: all };

/** Labels a device as a person does. */
function tag(gateway: SimulatedGateway, { id }: SimulatedDevice, ...tags: readonly string[]): void {
	const device = gateway.latest.sessions.devices.get(id);
	assert.ok(device, `${id} is unknown`);
	device.label = { tags };
}

/** Reconnects with other firmware, as after a repair. */
function comeBack(gateway: SimulatedGateway, device: SimulatedDevice, version: string): void {
	device.leave();
	device.version = version;
	device.turnOn(gateway);
}

function sentTo(devices: readonly SimulatedDevice[]): readonly (readonly string[])[] {
	return devices.map(({ sent }) => sent);
}

describe("standing rollout", () => {
	test("starts without any device, and updates those that connect for the first time, indefinitely", async (t) => {
		const { gateway, addDevice, pass, statuses, headOf } = await run(t);
		await gateway.rollouts.put("x", channel);
		assert.equal(gateway.rollouts.find("x").plan.deadline, undefined);
		await pass(minute);
		for (const count of [1, 2]) {
			addDevice("fine");
			await pass(count * 12 * 60 * minute, minute);
			assert.deepEqual([statuses(), headOf().status], [Array(count).fill("succeeded"), "running"]);
		}
	});

	for (const [what, change, command, status] of [
		["is canceled", {}, "cancel", "cancelled"],
		["is past its deadline", { deadline: at(minute) }, undefined, "finished"],
	] as const)
		test(`accepts no more devices once it ${what}, even while one soaks`, async (t) => {
			const { gateway, addDevice, pass, statuses, headOf } = await run(t, "fine");
			const groups = [{ size: "rest", soakSeconds: 180 }];
			await gateway.rollouts.put("x", { ...channel, ...change, groups });
			await pass(minute);
			if (command) await gateway.rollouts.execute("x", command, undefined);
			addDevice("fine");
			await pass(minute);
			assert.deepEqual(statuses(), ["soaking"]);
			await pass(3 * minute);
			assert.deepEqual([statuses(), headOf().status], [["succeeded"], status]);
		});

	test("updates a device again that returns with an older version, but not with a newer one", async (t) => {
		const { gateway, devices, pass, statuses } = await run(t, "fine", "fine", "fine");
		await gateway.rollouts.put("x", channel);
		await pass(minute);
		const [older, newer] = devices;
		assert.ok(older && newer, `only ${devices.length} devices`);
		comeBack(gateway, older, "1.1.0");
		comeBack(gateway, newer, "3.0.0");
		await pass(25 * second);
		assert.deepEqual(older.sent, ["2.0.0"], "not before others could have had outdated news of it");
		await pass(minute);
		assert.deepEqual(sentTo(devices), [["2.0.0", "2.0.0"], ["2.0.0"], ["2.0.0"]]);
		assert.deepEqual(statuses(), ["succeeded", "succeeded", "succeeded"]);
		assert.equal(newer.version, "3.0.0");
	});

	test("does not repeat an update rolled back after its success", async (t) => {
		const { gateway, first, pass } = await run(t, "goes back");
		await gateway.rollouts.put("x", channel);
		await pass(20 * minute, second);
		assert.deepEqual([first.version, first.sent], ["1.0.0", ["2.0.0"]]);
	});

	test("readmits a forgotten device", async (t) => {
		const { gateway, first, pass, statuses } = await run(t, "fine");
		first.leave();
		await gateway.rollouts.put("x", channel);
		const known = gateway.sessions.devices.get(first.id);
		assert.ok(known && gateway.sessions.forget(known), `${first.id} cannot be forgotten`);
		await pass(2 * second);
		assert.deepEqual(statuses(), ["removed"]);
		first.turnOn(gateway);
		await pass(minute);
		assert.deepEqual(statuses(), ["succeeded"]);
	});

	test("includes devices that gain its tags, and drops those that lose them before their update", async (t) => {
		const { gateway, devices, pass, statuses } = await run(t, "fine", "fine", "fine", "fine");
		const [has, gets, done, loses] = devices;
		assert.ok(has && gets && loses && done, `only ${devices.length} devices`);
		for (const device of [has, loses, done]) tag(gateway, device, "shop", "beta");
		tag(gateway, gets, "shop");
		loses.leave();
		await gateway.rollouts.put("x", { ...channel, target: { model: "DEV-1", tags: "shop and beta" } });
		await pass(minute);
		assert.deepEqual(statuses(), ["succeeded", "succeeded", "queued"]);
		tag(gateway, gets, "beta", "shop");
		tag(gateway, loses, "beta");
		tag(gateway, done);
		loses.turnOn(gateway);
		await pass(minute);
		assert.deepEqual(statuses(), ["succeeded", "succeeded", "cancelled", "succeeded"]);
		assert.deepEqual(sentTo(devices), [["2.0.0"], ["2.0.0"], ["2.0.0"], []]);
		assert.match(gateway.rollouts.find("x").devices.get(loses.id)?.reason ?? "", /no longer has the tags/);
		tag(gateway, loses, "beta", "shop");
		await pass(minute);
		assert.deepEqual(loses.sent, ["2.0.0"]);
	});

	test("waits for a device held by another rollout", async (t) => {
		const { gateway, first, pass, statuses } = await run(t, "fine", "fine");
		const { rollouts } = gateway;
		const other = { firmware: { version: "1.5.0" }, target: { devices: [first.id] } };
		await rollouts.put("other", { ...other, groups: [{ size: "rest", soakSeconds: 60 }] });
		tag(gateway, first, "beta");
		const put = (tags: string) => rollouts.put("x", { ...channel, target: { tags } });
		await assert.rejects(put("beta and not shop"), /is in rollout other/);
		tag(gateway, first);
		await put("beta");
		tag(gateway, first, "beta");
		await pass(30 * second);
		assert.deepEqual([statuses("x"), statuses("other")], [[], ["soaking"]]);
		await pass(3 * minute);
		assert.deepEqual([statuses("x"), statuses("other")], [["succeeded"], ["succeeded"]]);
		assert.deepEqual(first.sent, ["1.5.0", "2.0.0"]);
	});
});

describe("later release of its channel", () => {
	test("starts after the updates in progress, with no further updates to the earlier one, and new approval", async (t) => {
		const fates = Array.from({ length: 4 }, () => "fine" as const);
		const { gateway, devices, releases, pass, statuses, headOf, until } = await run(t, ...fates);
		const groups = [
			{ size: 1, soakSeconds: 0 },
			{ size: "rest", concurrency: 1, soakSeconds: 60, approval: true },
		];
		await gateway.rollouts.put("x", { ...channel, groups });
		await pass(30 * second);
		await gateway.rollouts.execute("x", "approve", undefined);
		await until(() => devices[1]?.sent.length !== 0);
		releases.latest = next;
		await pass(40 * second);
		assert.deepEqual(statuses(), ["succeeded", "soaking", "queued", "queued"]);
		const before = headOf();
		await until(() => gateway.rollouts.find("x").plan.firmware.version === next);
		assert.deepEqual([headOf().group, headOf().approved, headOf().revision > before.revision], [0, -1, true]);
		await pass(minute);
		assert.deepEqual([headOf().pausedBecause, sentTo(devices).flat().length], ["approval", 3]);
		await gateway.rollouts.execute("x", "approve", undefined);
		await pass(10 * minute);
		assert.deepEqual(sentTo(devices), [["2.0.0", next], ["2.0.0", next], [next], [next]]);
		assert.deepEqual(statuses(), ["succeeded", "succeeded", "succeeded", "succeeded"]);
		assert.equal(gateway.frames.at(-1)?.version, next);
		const { isNew, rollout } = await gateway.rollouts.put("x", { ...channel, groups });
		assert.deepEqual([isNew, rollout.plan.firmware.version], [false, next], "the same request");
	});

	test("waits at most 5 minutes for a soaking device", async (t) => {
		const { gateway, first, releases, pass, statuses } = await run(t, "fine");
		await gateway.rollouts.put("x", { ...channel, groups: [{ size: "rest", soakSeconds: 86_400 }] });
		await pass(minute);
		releases.latest = next;
		await pass(3 * minute);
		assert.deepEqual(statuses(), ["soaking"]);
		await pass(3 * minute);
		assert.deepEqual(first.sent, ["2.0.0", next]);
	});

	test("ends a pause for failures, but not by a person", async (t) => {
		const { gateway, devices, releases, pass, headOf } = await run(t, "goes back", "goes back", "goes back");
		await gateway.rollouts.put("x", { ...channel, groups: [{ size: 2 }, { size: "rest" }] });
		await pass(10 * minute);
		assert.equal(headOf().pausedBecause, "failures");
		releases.latest = next;
		await pass(5 * second);
		assert.equal(headOf().status, "running");
		await gateway.rollouts.execute("x", "pause", undefined);
		await pass(10 * minute);
		releases.latest = "2.2.0";
		await pass(5 * minute);
		const isSent = () => devices.some(({ sent }) => sent.includes("2.2.0"));
		assert.deepEqual([headOf().status, headOf().pausedBecause, isSent()], ["paused", "operator", false]);
		assert.equal(gateway.rollouts.find("x").plan.firmware.version, "2.2.0");
		await gateway.rollouts.execute("x", "resume", undefined);
		await pass(minute);
		assert.ok(isSent(), `sent: ${sentTo(devices).join(" ")}`);
	});

	test("is not started by a rollout that is not standing, has ended, or is already newer", async (t) => {
		const { gateway, first, releases, pass } = await run(t, "fine");
		await gateway.rollouts.put("once", { ...channel, standing: false });
		await pass(minute);
		await gateway.rollouts.put("x", channel);
		await gateway.rollouts.put("ended", { ...channel, target: { tags: "none" } });
		await gateway.rollouts.execute("ended", "cancel", undefined);
		const versions = async (latest: string) => {
			releases.latest = latest;
			await pass(minute);
			return ["once", "x", "ended"].map((id) => gateway.rollouts.find(id).plan.firmware.version);
		};
		assert.deepEqual(await versions("1.9.0"), ["2.0.0", "2.0.0", "2.0.0"]);
		assert.deepEqual(await versions(next), ["2.0.0", next, "2.0.0"]);
		assert.deepEqual(first.sent, ["2.0.0", next]);
	});

	test("starts once for each device, at any disk step of a kill", async (t) => {
		const world = await run(t, "fine", "fine", "fine");
		const { gateway, devices, releases, disk, problems, pass, restart, until } = world;
		await gateway.rollouts.put("x", channel);
		await pass(minute);
		const versions = ["2.0.0"];
		// A device whose command was lost with the gateway is tried again.
		for (let kill = 1; kill <= 12; kill += 1) {
			const version = `2.${kill}.0`;
			versions.push(version);
			releases.latest = version;
			disk.dieAt = disk.steps + kill;
			await until(() => !gateway.latest.isRunning);
			disk.dieAt = Number.POSITIVE_INFINITY;
			const { rollouts } = await restart();
			const [rollout] = rollouts.list();
			assert.equal(rollout?.id, "x", `lost at step ${kill}`);
			for (let waited = 0; devices.some((device) => device.version !== version); waited += 1) {
				assert.ok(waited < 600, `step ${kill}: ${devices.map((device) => device.version)}`);
				await pass(second);
			}
			await pass(minute);
		}
		for (const { sent } of devices) assert.deepEqual(sent, versions);
		const lost = problems.filter((problem) => !problem.includes("damaged lines"));
		assert.deepEqual(lost, []);
	});
});

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { waitUntil } from "../../support/eventually.js";
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
	test("updates devices that connect for the first time, indefinitely", async (t) => {
		const { gateway, addDevice, pass, statuses, headOf } = await run(t, "fine");
		await gateway.rollouts.put("x", channel);
		assert.equal(gateway.rollouts.find("x").plan.deadline, undefined);
		await pass(minute);
		assert.deepEqual([statuses(), headOf().status], [["succeeded"], "running"]);
		addDevice("fine");
		await pass(60 * 24 * minute, minute);
		assert.deepEqual([statuses(), headOf().status], [["succeeded", "succeeded"], "running"]);
	});

	test("starts without any device, and ends at its deadline if any", async (t) => {
		const { gateway, addDevice, pass, statuses, headOf } = await run(t);
		await gateway.rollouts.put("x", { ...channel, deadline: at(60 * minute) });
		await pass(minute);
		addDevice("fine");
		await pass(60 * minute, 10 * second);
		assert.deepEqual([statuses(), headOf().status], [["succeeded"], "finished"]);
		addDevice("fine");
		await pass(minute);
		assert.deepEqual(statuses(), ["succeeded"]);
	});

	for (const [what, change, command] of [
		["is cancelled", {}, "cancel"],
		["is past its deadline", { deadline: at(minute) }, undefined],
	] as const)
		test(`accepts no more devices once it ${what}, even while one soaks`, async (t) => {
			const { gateway, addDevice, pass, statuses } = await run(t, "fine");
			await gateway.rollouts.put("x", {
				...channel,
				...change,
				groups: [{ size: "rest", soakSeconds: 180 }],
			});
			await pass(minute);
			if (command) await gateway.rollouts.execute("x", command, undefined);
			addDevice("fine");
			await pass(minute);
			assert.deepEqual(statuses(), ["soaking"]);
			await pass(3 * minute);
			assert.deepEqual(statuses(), ["succeeded"]);
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
		const { gateway, devices, pass } = await run(t, "goes back");
		await gateway.rollouts.put("x", channel);
		await pass(20 * minute, second);
		assert.equal(devices[0]?.version, "1.0.0");
		assert.deepEqual(sentTo(devices), [["2.0.0"]]);
	});

	test("readmits a forgotten device", async (t) => {
		const { gateway, devices, pass, statuses } = await run(t, "fine");
		const [device] = devices;
		assert.ok(device, "no device");
		device.leave();
		await gateway.rollouts.put("x", channel);
		const known = gateway.sessions.devices.get(device.id);
		assert.ok(known && gateway.sessions.forget(known), `${device.id} cannot be forgotten`);
		await pass(2 * second);
		assert.deepEqual(statuses(), ["removed"]);
		device.turnOn(gateway);
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
		const { gateway, devices, pass, statuses } = await run(t, "fine", "fine");
		const [device] = devices;
		assert.ok(device, "no device");
		tag(gateway, device, "beta");
		await gateway.rollouts.put("other", {
			firmware: { version: "1.5.0" },
			target: { devices: [device.id] },
			groups: [{ size: "rest", soakSeconds: 60 }],
		});
		await assert.rejects(
			gateway.rollouts.put("x", { ...channel, target: { tags: "beta and not shop" } }),
			/is in rollout other/,
		);
		tag(gateway, device);
		await gateway.rollouts.put("x", { ...channel, target: { tags: "beta" } });
		tag(gateway, device, "beta");
		await pass(30 * second);
		assert.deepEqual([statuses("x"), statuses("other")], [[], ["soaking"]]);
		await pass(3 * minute);
		assert.deepEqual([statuses("x"), statuses("other")], [["succeeded"], ["succeeded"]]);
		assert.deepEqual(device.sent, ["1.5.0", "2.0.0"]);
	});
});

describe("later release of its channel", () => {
	test("starts after the updates in progress, with no further updates to the earlier one", async (t) => {
		const { gateway, devices, releases, pass, statuses, headOf } = await run(
			t,
			"fine",
			"fine",
			"fine",
			"fine",
		);
		const groups = [
			{ size: 1, soakSeconds: 0 },
			{ size: "rest", concurrency: 1, soakSeconds: 60 },
		];
		await gateway.rollouts.put("x", { ...channel, groups });
		await waitUntil(
			() => devices[1]?.sent.length !== 0,
			() => pass(second),
		);
		releases.latest = next;
		await pass(40 * second);
		assert.deepEqual(statuses(), ["succeeded", "soaking", "queued", "queued"]);
		const before = headOf();
		await waitUntil(
			() => gateway.rollouts.find("x").plan.firmware.version === next,
			() => pass(second),
		);
		assert.deepEqual([headOf().group, headOf().approved, headOf().revision > before.revision], [0, -1, true]);
		await pass(10 * minute);
		assert.deepEqual(sentTo(devices), [["2.0.0", next], ["2.0.0", next], [next], [next]]);
		assert.deepEqual(statuses(), ["succeeded", "succeeded", "succeeded", "succeeded"]);
		assert.equal(gateway.frames.at(-1)?.version, next);
	});

	test("waits at most 5 minutes for a soaking device", async (t) => {
		const { gateway, devices, releases, pass, statuses } = await run(t, "fine");
		await gateway.rollouts.put("x", { ...channel, groups: [{ size: "rest", soakSeconds: 86_400 }] });
		await pass(minute);
		releases.latest = next;
		await pass(3 * minute);
		assert.deepEqual(statuses(), ["soaking"]);
		await pass(3 * minute);
		assert.deepEqual(sentTo(devices), [["2.0.0", next]]);
	});

	test("ends a pause for failures, but not by a person", async (t) => {
		const { gateway, devices, releases, pass, headOf } = await run(t, "goes back", "goes back", "goes back");
		const plan = { ...channel, groups: [{ size: 2 }, { size: "rest" }] };
		await gateway.rollouts.put("x", plan);
		await pass(10 * minute);
		assert.equal(headOf().pausedBecause, "failures");
		releases.latest = next;
		await pass(5 * second);
		assert.equal(headOf().status, "running");
		await gateway.rollouts.execute("x", "pause", undefined);
		await pass(10 * minute);
		releases.latest = "2.2.0";
		await pass(5 * second);
		assert.deepEqual([headOf().status, headOf().pausedBecause], ["paused", "operator"]);
		assert.equal(gateway.rollouts.find("x").plan.firmware.version, "2.2.0");
		await pass(5 * minute);
		assert.deepEqual(
			devices.filter(({ sent }) => sent.includes("2.2.0")).map(({ id }) => id),
			[],
		);
		await gateway.rollouts.execute("x", "resume", undefined);
		await pass(minute);
		assert.ok(
			devices.some(({ sent }) => sent.includes("2.2.0")),
			`sent: ${devices.map(({ sent }) => sent.join(" "))}`,
		);
	});

	test("requires approval again", async (t) => {
		const { gateway, devices, releases, pass, headOf } = await run(t, "fine", "fine");
		const groups = [
			{ size: 1, soakSeconds: 0 },
			{ size: "rest", soakSeconds: 0, approval: true },
		];
		await gateway.rollouts.put("x", { ...channel, groups });
		await pass(minute);
		await gateway.rollouts.execute("x", "approve", undefined);
		await pass(minute);
		releases.latest = next;
		await pass(minute);
		assert.equal(headOf().pausedBecause, "approval");
		assert.deepEqual(devices.map(({ version }) => version).sort(), ["2.0.0", next]);
	});

	test("is not started by a rollout that is not standing, has ended, or is already newer", async (t) => {
		const { gateway, devices, releases, pass } = await run(t, "fine");
		const once = { ...channel, standing: false };
		await gateway.rollouts.put("once", once);
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
		assert.deepEqual(sentTo(devices), [["2.0.0", next]]);
	});

	test("belongs to the same rollout if requested again", async (t) => {
		const { gateway, releases, pass } = await run(t, "fine");
		await gateway.rollouts.put("x", channel);
		releases.latest = next;
		await pass(minute);
		const { isNew, rollout } = await gateway.rollouts.put("x", channel);
		assert.deepEqual([isNew, rollout.plan.firmware.version], [false, next]);
	});

	test("starts once for each device, at any disk step of a kill", async (t) => {
		const { gateway, devices, releases, disk, problems, pass, restart } = await run(
			t,
			"fine",
			"fine",
			"fine",
		);
		await gateway.rollouts.put("x", channel);
		await pass(minute);
		const versions = ["2.0.0"];
		// A device whose command was lost with the gateway is tried again.
		for (let kill = 1; kill <= 12; kill += 1) {
			const version = `2.${kill}.0`;
			versions.push(version);
			releases.latest = version;
			disk.dieAt = disk.steps + kill;
			await waitUntil(
				() => !gateway.latest.isRunning,
				() => pass(second),
			);
			disk.dieAt = Number.POSITIVE_INFINITY;
			const { rollouts } = await restart();
			assert.ok(
				rollouts.list().some(({ id }) => id === "x"),
				`lost at step ${kill}`,
			);
			for (let waited = 0; devices.some((device) => device.version !== version); waited += 1) {
				assert.ok(waited < 600, `step ${kill}: ${devices.map((device) => device.version)}`);
				await pass(second);
			}
			await pass(minute);
		}
		for (const { sent } of devices) assert.deepEqual(sent, versions);
		assert.deepEqual(
			problems.filter((problem) => !problem.includes("damaged lines")),
			[],
		);
	});
});

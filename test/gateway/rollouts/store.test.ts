/** Rollouts in the log of a cluster. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Rollout } from "../../../gateway/api/rollout.js";
import { BusError } from "../../../gateway/bus.js";
import { queued, withStatus } from "../../../gateway/rollouts/device-step.js";
import { apply, type Change, updateHead } from "../../../gateway/rollouts/machine.js";
import { RolloutStore } from "../../../gateway/rollouts/store.js";
import type { Log } from "../../../gateway/storage/log.js";
import { deferred } from "../../support/eventually.js";
import { MemoryServer } from "../../support/memory-bus.js";
import { sampleRollout } from "./sample-rollout.js";

const at = 1_700_000_000_000;

/** Rollout to devices that are not in order of name. */
function rolloutOf(count: number): Rollout {
	return sampleRollout(Array.from({ length: count }, (_, index) => `dev-1-${count - 1 - index}`));
}

/** Offers the rollout to devices. */
function offering(rollout: Rollout, ...deviceIds: readonly string[]): Change {
	const devices = deviceIds.map((id) => ({
		...withStatus(rollout.devices.get(id) ?? queued(id, at), "offered", at + 1, "x".repeat(1300)),
		attempts: 1,
		group: 0,
	}));
	return { head: updateHead(rollout.head, { status: "running" }), devices };
}

/** Gateways on one log, of which each considers itself the driver until proven otherwise. */
function server() {
	const memory = new MemoryServer();
	let joined = 0;
	const join = async (
		failing = (_text: string): "before" | "after" | undefined | Promise<undefined> => undefined,
		removing = async () => {},
	) => {
		joined += 1;
		const gatewayId = `gateway ${joined}`;
		const bus = memory.connect();
		const real = await bus.log("gw-rollout-log");
		const problems: string[] = [];
		const gateway = { stale: 0, isDeaf: false, changed: new Set<string>(), problems, bus };
		const log: Log = {
			removeBefore: async (...parameters) => {
				await removing();
				await real.removeBefore(...parameters);
			},
			read: ({ onAll, onEntry }) =>
				real.read({ onAll, onEntry: (...entry) => gateway.isDeaf || onEntry(...entry) }),
			append: async (key, text, after) => {
				assert.ok(text.length < 1 << 20, `${key} is too long for NATS`);
				const when = await failing(text);
				if (when === "before") throw new BusError("disconnected", "cut off");
				const written = await real.append(key, text, after);
				if (when === "after") throw new BusError("timeout", "cut off");
				return written;
			},
		};
		const onStale = () => void gateway.stale++;
		const store = new RolloutStore({ gatewayId, onStale, onProblem: (problem) => problems.push(problem) });
		store.onChange = (id) => gateway.changed.add(id);
		await store.open(log);
		return Object.assign(gateway, { store });
	};
	/** Checks that these gateways, and one that joins now, have this rollout. */
	const haveAll = async (gateways: readonly Awaited<ReturnType<typeof join>>[], rollout?: Rollout) => {
		await settle();
		for (const { store } of [...gateways, await join()]) assert.deepEqual(store.find("autumn"), rollout);
	};
	return { join, haveAll };
}

async function settle(): Promise<void> {
	for (let round = 0; round < 10; round++) await setImmediate();
}

/** Two gateways, of which the first has created a rollout of three devices. */
async function two() {
	const { join, haveAll } = server();
	const [driver, other] = [await join(), await join()];
	const created = rolloutOf(3);
	assert.equal(await driver.store.create(created), true);
	await settle();
	return { join, haveAll, driver, other, created, change: offering(created, "dev-1-2") };
}

test("shows the driver's changes at all gateways in the same order, even one that joins later", async () => {
	const { join } = server();
	const [driver, other] = [await join(), await join()];
	const created = rolloutOf(12_000);
	assert.equal(await driver.store.create(created), true);
	const change = offering(created, ...[...created.devices.keys()].slice(0, 1200));
	assert.equal(await driver.store.append("autumn", change), true);
	const joining = { devices: [queued("dev-1-joined", at + 2)] };
	assert.equal(await driver.store.append("autumn", joining), true);
	const grown = apply(apply(created, change), joining);
	await settle();
	for (const { store, problems } of [driver, other, await join()]) {
		assert.deepEqual(store.find("autumn"), grown);
		assert.deepEqual([...(store.find("autumn")?.devices.keys() ?? [])], [...grown.devices.keys()]);
		assert.deepEqual(problems, []);
	}
	assert.deepEqual([[...other.changed], driver.stale], [["autumn"], 0]);
});

test("notifies a replaced driver, which stores nothing before reading the claim", async () => {
	const { driver: stale, other: driver, created, change } = await two();
	stale.isDeaf = true;
	assert.equal(await driver.store.claim(), true);
	await settle();
	assert.equal(await stale.store.append("autumn", change), false);
	assert.deepEqual(driver.store.find("autumn"), created);
	assert.equal(await driver.store.append("autumn", change), true);
	await settle();
	stale.isDeaf = false;
	assert.equal(stale.stale, 0);
	assert.equal(await driver.store.claim(), true);
	await settle();
	assert.notEqual(stale.stale, 0);
	assert.equal(driver.stale, 0);
});

test("keeps the driver when another gateway stores a command", async () => {
	const { driver, other, created, change } = await two();
	driver.isDeaf = true;
	assert.equal(await other.store.append("autumn", offering(created, "dev-1-1")), true);
	await settle();
	driver.isDeaf = false;
	assert.equal(await driver.store.append("autumn", change), false);
	assert.equal(await other.store.append("autumn", { devices: [] }), true);
	await settle();
	assert.equal(await driver.store.append("autumn", change), true);
	assert.equal(driver.stale, 0);
});

test("finds a write with a lost response in the next claim", async () => {
	let isLost = false;
	const gateway = await server().join(() => (isLost ? "after" : undefined));
	const { store } = gateway;
	const created = rolloutOf(3);
	await store.create(created);
	isLost = true;
	const change = offering(created, "dev-1-2");
	assert.equal(await store.append("autumn", change), undefined);
	assert.notEqual(gateway.stale, 0);
	isLost = false;
	await settle();
	assert.equal(await store.claim(), true);
	assert.deepEqual(store.find("autumn"), apply(created, change));
});

test("steps down but stays ready if NATS rejects a write, such as without space", async () => {
	let isFull = false;
	const gateway = await server().join(() => {
		if (isFull) throw new Error("insufficient resources");
		return undefined;
	});
	const created = rolloutOf(3);
	await gateway.store.create(created);
	isFull = true;
	assert.equal(await gateway.store.append("autumn", offering(created, "dev-1-2")), undefined);
	assert.deepEqual([gateway.stale > 0, gateway.store.readinessProblem], [true, undefined]);
	assert.match(gateway.problems.join(), /insufficient resources/);
	assert.deepEqual(gateway.store.find("autumn"), created);
});

test("removes a rollout everywhere, and allows its id again", async () => {
	const { driver, other, change, haveAll } = await two();
	await driver.store.append("autumn", change);
	await settle();
	assert.equal(await driver.store.remove("autumn"), true);
	await haveAll([driver, other]);
	const next = rolloutOf(2);
	assert.equal(await driver.store.create(next), true);
	assert.equal(await driver.store.create(next), false, "it is there");
	await haveAll([driver, other], next);
});

test("hides an incompletely stored rollout, and replaces it on a retry", async () => {
	const { join, haveAll } = server();
	const ended = await join((text) => (text.includes('"head"') ? "before" : undefined));
	assert.equal(await ended.store.create(rolloutOf(7_000)), undefined);
	const driver = await join();
	assert.equal(driver.store.find("autumn"), undefined);
	const created = rolloutOf(2);
	assert.equal(await driver.store.create(created), true);
	await haveAll([driver], created);
});

test("creates a rollout once if two gateways do so at the same time", async () => {
	const { join, haveAll } = server();
	const { promise: isRemoving, resolve: goOn } = deferred<undefined>();
	const first = await join((text) => (text.includes('"head"') ? isRemoving : undefined));
	const isCreated = first.store.create(rolloutOf(2));
	// It has read the plan alone, as of a gateway that was killed then, and meanwhile that goes on.
	const other = await join(undefined, async () => {
		goOn(undefined);
		assert.equal(await isCreated, false);
	});
	await settle();
	const created = rolloutOf(3);
	assert.equal(await other.store.create(created), true);
	await haveAll([first, other], created);
});

test("keeps the driver after a short disconnect, and reads missed changes", async () => {
	const { driver, other, created, change } = await two();
	driver.bus.cut();
	driver.bus.heal();
	await settle();
	assert.equal(driver.stale, 0);
	driver.bus.cut();
	assert.equal(await other.store.claim(), true);
	assert.equal(await other.store.append("autumn", change), true);
	driver.bus.heal();
	await settle();
	assert.notEqual(driver.stale, 0);
	assert.deepEqual(driver.store.find("autumn"), apply(created, change));
});

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

/** Gateways on one log. */
function server() {
	const memory = new MemoryServer();
	const join = async (
		failing = (_text: string): "before" | "after" | undefined | Promise<undefined> => undefined,
		removing = async () => {},
	) => {
		const bus = memory.connect();
		const real = await bus.log("gw-rollouts");
		const problems: string[] = [];
		const gateway = { reads: 0, isDeaf: false, changed: new Set<string>(), problems, bus };
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
		const store = new RolloutStore({ onProblem: (problem) => problems.push(problem) });
		store.onChange = (id) => gateway.changed.add(id);
		store.onRead = () => void gateway.reads++;
		await store.open(log);
		return Object.assign(gateway, { store });
	};
	/** Checks that these gateways, and one that joins now, have this rollout. */
	const haveAll = async (gateways: readonly Awaited<ReturnType<typeof join>>[], rollout?: Rollout) => {
		await settle();
		for (const { store } of [...gateways, await join()]) assert.deepEqual(store.find("autumn"), rollout);
	};
	const texts = () => memory.logs.get("gw-rollouts")?.entries.map(([, { text }]) => text) ?? [];
	return { join, haveAll, texts };
}

async function settle(): Promise<void> {
	for (let round = 0; round < 10; round++) await setImmediate();
}

/** Two gateways with a rollout of three devices. */
async function two() {
	const { join, haveAll } = server();
	const [first, other] = [await join(), await join()];
	const created = rolloutOf(3);
	assert.equal(await first.store.create(created), true);
	await settle();
	return { join, haveAll, first, other, created, change: offering(created, "dev-1-2") };
}

test("shows changes at all gateways in the same order, even one that joins later", async () => {
	const { join } = server();
	const [first, other] = [await join(), await join()];
	const created = rolloutOf(12_000);
	assert.equal(await first.store.create(created), true);
	const change = offering(created, ...[...created.devices.keys()].slice(0, 1200));
	assert.equal(await first.store.append("autumn", change), true);
	const joining = { devices: [queued("dev-1-joined", at + 2)] };
	assert.equal(await first.store.append("autumn", joining), true);
	const grown = apply(apply(created, change), joining);
	await settle();
	for (const { store, problems } of [first, other, await join()]) {
		assert.deepEqual(store.find("autumn"), grown);
		assert.deepEqual([...(store.find("autumn")?.devices.keys() ?? [])], [...grown.devices.keys()]);
		assert.deepEqual(problems, []);
	}
	assert.deepEqual([...other.changed], ["autumn"]);
});

test("rejects a change by a gateway that has not read the latest one", async () => {
	const { first, other, created, change } = await two();
	first.isDeaf = true;
	assert.equal(await other.store.append("autumn", offering(created, "dev-1-1")), true);
	await settle();
	first.isDeaf = false;
	assert.equal(await first.store.append("autumn", change), false);
	assert.deepEqual(first.store.find("autumn"), created);
	assert.equal(await other.store.append("autumn", { devices: [] }), true);
	await settle();
	assert.equal(await first.store.append("autumn", change), true);
});

test("finds a change with a lost response", async () => {
	let isLost = false;
	const { store, problems } = await server().join(() => (isLost ? "after" : undefined));
	const created = rolloutOf(3);
	await store.create(created);
	isLost = true;
	const change = offering(created, "dev-1-2");
	assert.equal(await store.append("autumn", change), undefined);
	await settle();
	assert.deepEqual(store.find("autumn"), apply(created, change));
	assert.deepEqual([problems, store.readinessProblem], [[], undefined]);
});

test("restarts a rollout with a later release, without the entries before", async () => {
	const { join, haveAll, texts } = server();
	const { store } = await join();
	const created = rolloutOf(3);
	await store.create(created);
	const firmware = { ...created.plan.firmware, version: "1.5.0" };
	const next = { ...created, plan: { ...created.plan, firmware }, devices: new Map() };
	assert.equal(await store.restart(next), true);
	await haveAll([], next);
	assert.equal(texts().length, 1);
});

test("removes a rollout everywhere, and allows its id again", async () => {
	const { first, other, change, haveAll } = await two();
	await first.store.append("autumn", change);
	await settle();
	assert.equal(await first.store.remove("autumn"), true);
	await haveAll([first, other]);
	const next = rolloutOf(2);
	assert.equal(await first.store.create(next), true);
	assert.equal(await first.store.create(next), false, "it is there");
	await haveAll([first, other], next);
});

test("hides an incompletely stored rollout, and replaces it on a retry", async () => {
	const { join, haveAll } = server();
	const ended = await join((text) => (text.includes('"head"') ? "before" : undefined));
	assert.equal(await ended.store.create(rolloutOf(7_000)), undefined);
	const first = await join();
	assert.equal(first.store.find("autumn"), undefined);
	const created = rolloutOf(2);
	assert.equal(await first.store.create(created), true);
	await haveAll([first], created);
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

test("reads missed changes after a disconnection", async () => {
	const { first, other, created, change } = await two();
	first.bus.cut();
	assert.equal(await other.store.append("autumn", change), true);
	first.bus.heal();
	await settle();
	assert.equal(first.reads, 2);
	assert.deepEqual(first.store.find("autumn"), apply(created, change));
});

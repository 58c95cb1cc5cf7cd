import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Rollout } from "../../../gateway/api/rollout.js";
import { BusError } from "../../../gateway/bus.js";
import { queued, withStatus } from "../../../gateway/rollouts/device-step.js";
import { apply, type Change, firstHead, updateHead } from "../../../gateway/rollouts/machine.js";
import { RolloutStore } from "../../../gateway/rollouts/store.js";
import type { Log } from "../../../gateway/storage/log.js";
import { MemoryServer } from "../../support/memory-bus.js";

const at = 1_700_000_000_000;

function rolloutOf(count: number, id = "autumn"): Rollout {
	const ids = Array.from({ length: count }, (_, index) => `dev-1-${index}`);
	// Not in order of name.
	ids.reverse();
	return {
		id,
		createdAt: at,
		asked: { firmware: { version: "1.4.0" } },
		plan: {
			firmware: { version: "1.4.0", source: "release", images: [{ sha256: "0".repeat(64) }] },
			target: { model: "DEV-1" },
			standing: false,
			groups: [
				{
					size: "rest",
					concurrency: 20,
					errorThreshold: { percent: 10, minExecuted: 10 },
					approval: false,
					soakSeconds: 180,
				},
			],
			maxAttempts: 2,
			allowDowngrade: false,
			startsAt: new Date(at).toISOString(),
			deadline: new Date(at + 1e9).toISOString(),
		},
		head: firstHead,
		devices: new Map(ids.map((deviceId) => [deviceId, queued(deviceId, at)])),
	};
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

const server = () => {
	const memory = new MemoryServer();
	let joined = 0;
	/** Gateway that considers itself the driver until proven otherwise. */
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
		const store = new RolloutStore({
			gatewayId,
			onStale: () => {
				gateway.stale += 1;
			},
			onProblem: (problem) => gateway.problems.push(problem),
		});
		store.onChange = (id) => gateway.changed.add(id);
		await store.open(log);
		return Object.assign(gateway, { store });
	};
	return { join };
};

async function settle(): Promise<void> {
	for (let round = 0; round < 10; round++) await setImmediate();
}

test("shows the driver's changes at all gateways in the same order, even one that joins later", async () => {
	const { join } = server();
	const [driver, other] = [await join(), await join()];
	const created = rolloutOf(12_000);
	assert.equal(await driver.store.create(created), true);
	const change = offering(created, ...[...created.devices.keys()].slice(0, 1200));
	const next = apply(created, change);
	assert.equal(await driver.store.append("autumn", change), true);
	const joined = "dev-1-joined";
	const grown = apply(next, { devices: [queued(joined, at + 2)] });
	assert.equal(await driver.store.append("autumn", { devices: [queued(joined, at + 2)] }), true);
	await settle();
	const late = await join();
	for (const { store, problems } of [driver, other, late]) {
		assert.deepEqual(store.find("autumn"), grown);
		assert.deepEqual([...(store.find("autumn")?.devices.keys() ?? [])], [...grown.devices.keys()]);
		assert.deepEqual(problems, []);
	}
	assert.deepEqual([...other.changed], ["autumn"]);
	assert.equal(driver.stale, 0, "its own writes");
});

test("notifies a replaced driver, which stores nothing before reading the claim", async () => {
	const { join } = server();
	const [stale, driver] = [await join(), await join()];
	const created = rolloutOf(3);
	await stale.store.create(created);
	await settle();
	const change = offering(created, "dev-1-2");
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
	const { join } = server();
	const [driver, other] = [await join(), await join()];
	const created = rolloutOf(3);
	await driver.store.create(created);
	await settle();
	driver.isDeaf = true;
	assert.equal(await other.store.append("autumn", offering(created, "dev-1-1")), true);
	await settle();
	driver.isDeaf = false;
	assert.equal(await driver.store.append("autumn", offering(created, "dev-1-2")), false);
	assert.equal(await other.store.append("autumn", { devices: [] }), true);
	await settle();
	assert.equal(await driver.store.append("autumn", offering(created, "dev-1-2")), true);
	assert.equal(driver.stale, 0);
});

test("finds a write with a lost response in the next claim", async () => {
	const { join } = server();
	let isLost = false;
	const gateway = await join(() => (isLost ? "after" : undefined));
	const created = rolloutOf(3);
	await gateway.store.create(created);
	isLost = true;
	const change = offering(created, "dev-1-2");
	assert.equal(await gateway.store.append("autumn", change), undefined);
	assert.notEqual(gateway.stale, 0);
	isLost = false;
	await settle();
	assert.equal(await gateway.store.claim(), true);
	assert.deepEqual(gateway.store.find("autumn"), apply(created, change));
});

test("steps down but stays ready if NATS rejects a write, such as without space", async () => {
	const { join } = server();
	let isFull = false;
	const gateway = await join(() => {
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
	const { join } = server();
	const [driver, other] = [await join(), await join()];
	const created = rolloutOf(3);
	await driver.store.create(created);
	const change = offering(created, "dev-1-2");
	await driver.store.append("autumn", change);
	await settle();
	assert.equal(await driver.store.remove("autumn"), true);
	await settle();
	for (const { store } of [driver, other, await join()]) assert.equal(store.find("autumn"), undefined);
	const next = rolloutOf(2);
	assert.equal(await driver.store.create(next), true);
	assert.equal(await driver.store.create(next), false, "it is there");
	await settle();
	for (const { store } of [driver, other, await join()]) assert.deepEqual(store.find("autumn"), next);
});

test("hides an incompletely stored rollout, and replaces it on a retry", async () => {
	const { join } = server();
	const ended = await join((text) => (text.includes('"head"') ? "before" : undefined));
	assert.equal(await ended.store.create(rolloutOf(7_000)), undefined);
	const driver = await join();
	assert.equal(driver.store.find("autumn"), undefined);
	const created = rolloutOf(2);
	assert.equal(await driver.store.create(created), true);
	await settle();
	assert.deepEqual((await join()).store.find("autumn"), created);
});

test("creates a rollout once if two gateways do so at the same time", async () => {
	const { join } = server();
	let goOn = () => {};
	const isRemoving = new Promise<undefined>((resolve) => {
		goOn = () => resolve(undefined);
	});
	const first = await join((text) => (text.includes('"head"') ? isRemoving : undefined));
	const isCreated = first.store.create(rolloutOf(2));
	// It has read the plan alone, as of a gateway that was killed then, and meanwhile that goes on.
	const other = await join(undefined, async () => {
		goOn();
		assert.equal(await isCreated, false);
	});
	await settle();
	assert.equal(await other.store.create(rolloutOf(3)), true);
	await settle();
	for (const { store } of [first, other, await join()]) assert.equal(store.find("autumn")?.devices.size, 3);
});

test("imports a rollout with completed and running devices into the log unchanged", async () => {
	const { join } = server();
	const driver = await join();
	const created = rolloutOf(900);
	const moved = apply(created, offering(created, ...[...created.devices.keys()].slice(10, 700)));
	assert.equal(await driver.store.create(moved), true);
	await settle();
	assert.deepEqual(driver.problems, []);
	assert.deepEqual((await join()).store.find("autumn"), moved);
});

test("keeps the driver after a short disconnect, and reads missed changes", async () => {
	const { join } = server();
	const [driver, other] = [await join(), await join()];
	const created = rolloutOf(3);
	assert.equal(await driver.store.create(created), true);
	await settle();
	driver.bus.cut();
	driver.bus.heal();
	await settle();
	assert.equal(driver.stale, 0);
	driver.bus.cut();
	other.stale = 0;
	assert.equal(await other.store.claim(), true);
	const change = offering(created, "dev-1-2");
	assert.equal(await other.store.append("autumn", change), true);
	driver.bus.heal();
	await settle();
	assert.notEqual(driver.stale, 0);
	assert.deepEqual(driver.store.find("autumn"), apply(created, change));
});

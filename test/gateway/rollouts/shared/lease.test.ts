import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import type { Bucket } from "../../../../gateway/bus.js";
import { Lease, leaseBucket } from "../../../../gateway/rollouts/shared/lease.js";
import { type MemoryBus, MemoryServer } from "../../../support/memory-bus.js";
import { runs } from "../../../support/property-runs.js";

const second = 1000;
const ttlMs = 10 * second;
const validMs = 6 * second;

/** Lease candidate that can be disconnected and stopped. */
class Candidate {
	readonly bus: MemoryBus;
	readonly lease: Lease;
	/** Lease changes reported to it. */
	readonly changes: boolean[] = [];
	/** Ends the delay of its writes and their responses. */
	goOn = () => {};
	#stopped: Promise<void> | undefined;

	constructor(bus: MemoryBus, bucket: Bucket, holder: string, monotonic: () => number) {
		this.bus = bus;
		const stoppable: Bucket = {
			...bucket,
			set: async (...parameters) => {
				await this.#stopped;
				const written = await bucket.set(...parameters);
				await this.#stopped;
				return written;
			},
		};
		const onChange = (isHeld: boolean) => this.changes.push(isHeld);
		this.lease = new Lease({ bucket: stoppable, holder, monotonic, onChange });
	}

	stop(): void {
		// Pending writes would otherwise wait forever.
		this.#stopped ??= new Promise((resolve) => {
			this.goOn = () => {
				this.#stopped = undefined;
				resolve();
			};
		});
	}
}

/** Candidates on one bus, in virtual time. */
async function run(...names: readonly string[]) {
	const time = { now: 0 };
	const server = new MemoryServer(() => time.now);
	const made: Candidate[] = [];
	for (const name of names) {
		const bus = server.connect();
		const bucket = await bus.bucket("gw-lease", leaseBucket);
		made.push(new Candidate(bus, bucket, name, () => time.now));
	}
	const holders = () => names.filter((_, index) => made[index]?.lease.isHeld);
	const [a, b] = [made[0] ?? assert.fail("none"), made.at(-1) ?? assert.fail("none")];
	return { time, made, holders, a, b };
}

/** Time to complete started operations. */
async function settle(): Promise<void> {
	for (let round = 0; round < 10; round++) await setImmediate();
}

test("acquires and renews the lease at one gateway while others wait", async () => {
	const { time, made, holders, a } = await run("a", "b", "c");
	for (let passed = 0; passed < 60 * second; passed += 3 * second) {
		for (const { lease } of made) await lease.renew();
		assert.deepEqual(holders(), ["a"]);
		time.now += 3 * second;
	}
	assert.deepEqual(a.changes, [true]);
});

test("gives up an unrenewable lease after 6 s, taken over after 10 s", async () => {
	const { time, holders, a, b } = await run("a", "b");
	await a.lease.renew();
	a.bus.cut();
	time.now += validMs - 1;
	await a.lease.renew();
	assert.deepEqual(holders(), ["a"]);
	time.now += 1;
	assert.deepEqual(holders(), [], "expired by the clock");
	await a.lease.renew();
	assert.deepEqual(a.changes, [true, false]);
	await b.lease.renew();
	assert.deepEqual(holders(), [], "key not expired yet");
	time.now = ttlMs;
	await b.lease.renew();
	assert.deepEqual(holders(), ["b"]);
	a.bus.heal();
	await a.lease.renew();
	assert.deepEqual(holders(), ["b"]);
});

test("releases the lease immediately on a clean stop", async () => {
	const { holders, a, b } = await run("a", "b");
	await a.lease.renew();
	await a.lease.close();
	await b.lease.renew();
	assert.deepEqual(holders(), ["b"]);
});

test("counts the lease from its request, not from a late response", async () => {
	const { time, holders, a } = await run("a");
	await a.lease.renew();
	const renewed = a.lease.renew();
	a.stop();
	time.now += validMs;
	a.goOn();
	await renewed;
	assert.deepEqual(holders(), []);
});

test("does not hold the lease after stepping down during a renewal", async () => {
	const { holders, a } = await run("a");
	await a.lease.renew();
	a.stop();
	const renewed = a.lease.renew();
	a.lease.stepDown();
	a.goOn();
	await renewed;
	assert.deepEqual([holders(), a.changes], [[], [true, false]]);
});

test("reacquires the lease after a lost renewal response", async () => {
	const { time, holders, a } = await run("a");
	await a.lease.renew();
	time.now += 3 * second;
	a.stop();
	const renewed = a.lease.renew();
	await settle();
	a.goOn();
	// Written in the next turn, with the response one later.
	await setImmediate();
	await setImmediate();
	a.bus.cut();
	await renewed;
	a.bus.heal();
	await a.lease.renew();
	await a.lease.renew();
	assert.deepEqual(holders(), ["a"]);
});

const steps: Readonly<Record<string, (candidate: Candidate) => unknown>> = {
	renew: ({ lease }) => void lease.renew(),
	cut: ({ bus }) => bus.cut(),
	heal: ({ bus }) => bus.heal(),
	stop: (candidate) => candidate.stop(),
	"go on": (candidate) => candidate.goOn(),
	"step down": ({ lease }) => lease.stepDown(),
};

test("never has two holders under any faults, and recovers afterwards", async () => {
	const who = fc.nat(2);
	const step = fc.oneof(
		{ weight: 6, arbitrary: fc.record({ who, what: fc.constant("renew") }) },
		{ weight: 3, arbitrary: fc.record({ who, what: fc.constantFrom(...Object.keys(steps)) }) },
		{ weight: 4, arbitrary: fc.integer({ min: 1, max: 7 * second }) },
	);
	await fc.assert(
		fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (drawn) => {
			const { time, made, holders } = await run("a", "b", "c");
			for (const action of drawn) {
				if (typeof action === "number") time.now += action;
				else steps[action.what]?.(made[action.who] ?? assert.fail(`no candidate ${action.who}`));
				await setImmediate();
				assert.ok(holders().length <= 1, `${holders().join(" and ")} hold it`);
				for (const { lease, changes } of made)
					if (lease.isHeld) assert.equal(changes.at(-1), true, "not notified");
			}
			for (const candidate of made) {
				candidate.goOn();
				candidate.bus.heal();
			}
			await settle();
			time.now += ttlMs;
			for (const { lease } of [...made, ...made]) await lease.renew();
			assert.equal(holders().length, 1);
		}),
		{ numRuns: runs(300) },
	);
});

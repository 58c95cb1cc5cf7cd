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
interface Candidate {
	readonly name: string;
	readonly bus: MemoryBus;
	readonly lease: Lease;
	/** Lease changes reported to it. */
	readonly changes: boolean[];
	/** Its writes and their responses are delayed until then. */
	stopped: Promise<void> | undefined;
	goOn(): void;
}

/** Candidates on one bus, in virtual time. */
async function candidates(count: number) {
	const time = { now: 0 };
	const server = new MemoryServer(() => time.now);
	const made: Candidate[] = [];
	for (let index = 0; index < count; index++) {
		const bus = server.connect();
		const real = await bus.bucket("gw-lease", leaseBucket);
		const changes: boolean[] = [];
		const stoppable: Bucket = {
			get: (key) => real.get(key),
			set: async (...parameters) => {
				await candidate.stopped;
				const written = await real.set(...parameters);
				await candidate.stopped;
				return written;
			},
			remove: (...parameters) => real.remove(...parameters),
			watch: (onChange) => real.watch(onChange),
		};
		const lease = new Lease({
			bucket: stoppable,
			holder: `gateway ${index}`,
			monotonic: () => time.now,
			onChange: (isHeld) => changes.push(isHeld),
		});
		const candidate: Candidate = {
			name: `gateway ${index}`,
			bus,
			lease,
			changes,
			stopped: undefined,
			goOn: () => {},
		};
		made.push(candidate);
	}
	const holders = () => made.filter(({ lease }) => lease.isHeld);
	return { time, made, holders };
}

function stop(candidate: Candidate): void {
	// Pending writes would otherwise wait forever.
	if (candidate.stopped) return;
	candidate.stopped = new Promise((resolve) => {
		candidate.goOn = () => {
			candidate.stopped = undefined;
			resolve();
		};
	});
}

/** Time to complete started operations. */
async function settle(): Promise<void> {
	for (let round = 0; round < 10; round++) await setImmediate();
}

test("acquires and renews the lease at one gateway while others wait", async () => {
	const { time, made, holders } = await candidates(3);
	const [first] = made;
	for (let passed = 0; passed < 60 * second; passed += 3 * second) {
		for (const { lease } of made) await lease.renew();
		assert.deepEqual(holders(), [first]);
		time.now += 3 * second;
	}
	assert.deepEqual(first?.changes, [true]);
});

test("gives up an unrenewable lease after 6 s, taken over after 10 s", async () => {
	const { time, made, holders } = await candidates(2);
	const [first, second_] = made;
	assert.ok(first && second_, `only ${made.length} candidates`);
	await first.lease.renew();
	first.bus.cut();
	time.now += validMs - 1;
	await first.lease.renew();
	assert.deepEqual(holders(), [first]);
	time.now += 1;
	assert.deepEqual(holders(), [], "expired by the clock");
	await first.lease.renew();
	assert.deepEqual(first.changes, [true, false]);
	await second_.lease.renew();
	assert.deepEqual(holders(), [], "key not expired yet");
	time.now = ttlMs;
	await second_.lease.renew();
	assert.deepEqual(holders(), [second_]);
	first.bus.heal();
	await first.lease.renew();
	assert.deepEqual(holders(), [second_]);
});

test("releases the lease immediately on a clean stop", async () => {
	const { made, holders } = await candidates(2);
	const [first, second_] = made;
	await first?.lease.renew();
	await first?.lease.close();
	await second_?.lease.renew();
	assert.deepEqual(holders(), [second_]);
});

test("does not hold the lease after a stop during a renewal", async () => {
	const { time, made, holders } = await candidates(2);
	const [first, second_] = made;
	assert.ok(first && second_, `only ${made.length} candidates`);
	await first.lease.renew();
	time.now += 3 * second;
	stop(first);
	const renewed = first.lease.renew();
	await settle();
	time.now += 20 * second;
	await second_.lease.renew();
	assert.deepEqual(holders(), [second_]);
	first.goOn();
	await renewed;
	assert.deepEqual(holders(), [second_]);
	assert.deepEqual(first.changes, [true, false]);
});

test("does not hold the lease after stepping down during a renewal", async () => {
	const { made, holders } = await candidates(1);
	const [only] = made;
	assert.ok(only, "no candidate");
	await only.lease.renew();
	stop(only);
	const renewed = only.lease.renew();
	only.lease.stepDown();
	only.goOn();
	await renewed;
	assert.deepEqual([holders(), only.changes], [[], [true, false]]);
});

test("reacquires the lease after a lost renewal response", async () => {
	const { time, made, holders } = await candidates(1);
	const [only] = made;
	assert.ok(only, "no candidate");
	await only.lease.renew();
	time.now += 3 * second;
	stop(only);
	const renewed = only.lease.renew();
	await settle();
	only.goOn();
	// Written in the next turn, with the response one later.
	await setImmediate();
	await setImmediate();
	only.bus.cut();
	await renewed;
	only.bus.heal();
	await only.lease.renew();
	await only.lease.renew();
	assert.deepEqual(holders(), [only]);
});

test("never has two holders under any faults, and recovers afterwards", async () => {
	const step = fc.oneof(
		{ weight: 6, arbitrary: fc.record({ who: fc.nat(2), what: fc.constant("renew" as const) }) },
		{
			weight: 2,
			arbitrary: fc.record({ who: fc.nat(2), what: fc.constantFrom("cut", "heal", "stop", "go on") }),
		},
		{ weight: 4, arbitrary: fc.record({ ms: fc.integer({ min: 1, max: 7 * second }) }) },
		{ weight: 1, arbitrary: fc.record({ who: fc.nat(2), what: fc.constant("step down" as const) }) },
	);
	await fc.assert(
		fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
			const { time, made, holders } = await candidates(3);
			for (const each of steps) {
				if ("ms" in each) time.now += each.ms;
				else {
					const candidate = made[each.who];
					assert.ok(candidate, `no candidate ${each.who}`);
					if (each.what === "renew") void candidate.lease.renew();
					if (each.what === "cut") candidate.bus.cut();
					if (each.what === "heal") candidate.bus.heal();
					if (each.what === "stop") stop(candidate);
					if (each.what === "go on") candidate.goOn();
					if (each.what === "step down") candidate.lease.stepDown();
				}
				await setImmediate();
				const all = holders().map(({ name }) => name);
				assert.ok(all.length <= 1, `${all.join(" and ")} hold it`);
				for (const { changes } of holders()) assert.equal(changes.at(-1), true, "not notified");
			}
			for (const candidate of made) {
				candidate.goOn();
				candidate.bus.heal();
			}
			await settle();
			time.now += ttlMs;
			for (const { lease } of made) await lease.renew();
			for (const { lease } of made) await lease.renew();
			assert.equal(holders().length, 1);
		}),
		{ numRuns: runs(300) },
	);
});

/** Records of two gateways are merged to the same, whichever comes first. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Crash, crashKinds } from "../../../device/protocol/messages.js";
import { jobsFile, type UpdateJob } from "../../../gateway/firmware/update-job.js";
import { crashesFile, type StoredCrash } from "../../../gateway/sessions/crash-store.js";
import { otaStatuses } from "../../../gateway/sessions/device.js";

const job: fc.Arbitrary<UpdateJob> = fc.record(
	{
		status: fc.constantFrom(...otaStatuses.filter((status) => status !== "idle")),
		startedAt: fc.integer({ min: 1, max: 14 }),
		percent: fc.constantFrom(0, 50, 100),
		endedAt: fc.integer({ min: 15, max: 17 }),
		silent: fc.constant(true),
		complete: fc.constant(true),
	},
	{ requiredKeys: ["status", "startedAt"], noNullPrototype: true },
);
const jobs = fc
	.uniqueArray(job, { selector: ({ startedAt }) => startedAt, maxLength: 10 })
	.map((list) => list.sort((a, b) => a.startedAt - b.startedAt));

const facts: Omit<Crash, "id" | "kind"> = {
	message: "",
	stack: "",
	firmware_version: "",
	uptime_seconds: 0,
	trace: "",
};
const crash: fc.Arbitrary<StoredCrash> = fc
	.record({ number: fc.nat(9), at: fc.integer({ min: 1, max: 5 }) }, { noNullPrototype: true })
	.map(({ number, at }) => ({ ...facts, id: number.toString(16), kind: crashKinds[0], at }));
const crashes = fc
	.uniqueArray(crash, { selector: ({ id }) => id, maxLength: 6 })
	.map((list) => crashesFile.merge(list, []));

function testMerge<T>(what: string, any: fc.Arbitrary<T>, merge: (one: T, other: T) => T): void {
	test(`${what}: in any order, and repeatedly`, () => {
		fc.assert(
			fc.property(any, any, any, (a, b, c) => {
				assert.deepEqual(merge(a, a), a);
				assert.deepEqual(merge(a, b), merge(b, a));
				assert.deepEqual(merge(merge(a, b), c), merge(a, merge(b, c)));
				assert.deepEqual(merge(merge(a, b), b), merge(a, b));
			}),
			{ numRuns: 2000 },
		);
	});
}

testMerge<readonly UpdateJob[]>("updates", jobs, jobsFile.merge);
testMerge<readonly StoredCrash[]>("crashes", crashes, crashesFile.merge);

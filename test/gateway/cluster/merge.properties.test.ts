/** Records of two gateways are merged to the same, whichever comes first. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Crash, crashKinds } from "../../../device/protocol/messages.js";
import { otaStatuses } from "../../../gateway/api/update.js";
import { jobsFile, type UpdateJob } from "../../../gateway/firmware/update-job.js";
import { crashesFile, type StoredCrash } from "../../../gateway/fleet/crash-store.js";

import { deviceFile } from "../../../gateway/sessions/device-store.js";
import { runs } from "../../support/property-runs.js";

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
			{ numRuns: runs(2000) },
		);
	});
}

testMerge<readonly UpdateJob[]>("updates", jobs, jobsFile.merge);
testMerge<readonly StoredCrash[]>("crashes", crashes, crashesFile.merge);

test("devices: the facts of the later session, and the later name, whichever gateway has them", () => {
	const parse = (record: object) => {
		const device = deviceFile.parse(
			JSON.stringify({ remoteAddress: "::1", lastReportAt: 0, lastSeenAt: 9, ...record }),
			"dev-1-000001",
		);
		assert.ok(device);
		return device;
	};
	const early = { sessionId: "a", connectedAt: 3, firstSeenAt: 1, firmwareVersion: "1.0.0" };
	const one = parse({ ...early, name: "new", labelledAt: 8 });
	const late = { sessionId: "b", connectedAt: 4, firstSeenAt: 2, firmwareVersion: "2.0.0" };
	const other = parse({ ...late, name: "old", labelledAt: 7 });
	for (const merged of [deviceFile.merge(one, other), deviceFile.merge(other, one)]) {
		const { session, firmwareVersion, firstSeenAt, label, labelledAt } = merged;
		assert.deepEqual(
			[session.sessionId, firmwareVersion, firstSeenAt, label, labelledAt],
			["b", "2.0.0", 1, { name: "new" }, 8],
		);
		const read = deviceFile.parse(deviceFile.format(merged), merged.deviceId);
		assert.ok(read);
		assert.equal(deviceFile.stateOf(read), deviceFile.stateOf(merged));
	}
});

/** Records of two gateways are merged to the same, whichever comes first. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { otaStatuses } from "../../../gateway/api/update.js";
import { jobsFile, type UpdateJob } from "../../../gateway/firmware/update-job.js";
import { deviceFile } from "../../../gateway/sessions/device-store.js";
import { testMerge } from "../../support/merges.js";

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

testMerge<readonly UpdateJob[]>("updates", jobs, jobsFile.merge);

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

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { DeviceStatus } from "../../../gateway/api/statuses.js";
import { type DeviceSnapshot, queued, withStatus } from "../../../gateway/rollouts/device-step.js";
import { advance, apply, firstHead, updateHead } from "../../../gateway/rollouts/machine.js";
import { sampleRollout } from "./sample-rollout.js";

const seen: DeviceSnapshot = {
	model: "DEV-1",
	chip: "esp32s3",
	version: "1.0.0",
	isConnected: true,
	isAvailable: true,
	isInherited: false,
	isReturning: false,
};
const timing = { now: 1, isDue: true, isOpen: true, isLate: false };
const rest = { concurrency: 9, approval: false, soakSeconds: 0 };

/** Next change of a running rollout of one more device. @param statuses of the devices of the first group */
function advanced(group: object, statuses: readonly DeviceStatus[], snapshot = seen) {
	const ids = statuses.map((_, index) => `dev-1-${index}`);
	const groups = [{ size: "rest", errorThreshold: { count: 9, minExecuted: 10 }, ...rest, ...group }];
	const head = updateHead(firstHead, { status: "running" });
	const done = ids.map((id, index) => ({
		...withStatus(queued(id, 0), statuses[index] ?? "failed", 0),
		group: 0,
	}));
	const rollout = apply(sampleRollout([...ids, "next"], { groups }), { head, devices: done });
	return advance(rollout, () => snapshot, timing);
}

describe("running rollout", () => {
	const failures = ["failed", "rolled_back"] as const;
	const cases: Readonly<Record<string, readonly (readonly [object, readonly DeviceStatus[], boolean])[]>> = {
		"pauses at a number of failures, or once the whole group failed": [
			[{ errorThreshold: { count: 2, minExecuted: 10 } }, ["failed", "succeeded"], false],
			[{ errorThreshold: { count: 2, minExecuted: 10 } }, failures, true],
			[{ errorThreshold: { count: 9, minExecuted: 10 }, size: 2 }, ["timed_out", "failed"], true],
		],
		"pauses at a percentage of a minimum, or of the whole group": [
			[{ errorThreshold: { percent: 50, minExecuted: 4 } }, [...failures, "succeeded"], false],
			[{ errorThreshold: { percent: 50, minExecuted: 3 } }, ["failed", "succeeded", "succeeded"], false],
			[{ errorThreshold: { percent: 50, minExecuted: 4 } }, [...failures, "succeeded", "succeeded"], true],
			[{ errorThreshold: { percent: 50, minExecuted: 10 }, size: 2 }, ["failed", "succeeded"], true],
		],
	};
	for (const [what, rows] of Object.entries(cases))
		test(what, () => {
			for (const [group, statuses, isPaused] of rows)
				assert.equal(
					advanced(group, statuses).head?.pausedBecause,
					isPaused ? "failures" : undefined,
					JSON.stringify([group, statuses]),
				);
		});

	test("offers the update with what the device did before, unless it runs it by now", () => {
		const crash = { id: "c1", version: "2.0.0", kind: "exception" } as const;
		const job = { status: "failed", startedAt: 7 } as const;
		const [offered] = advanced({}, [], { ...seen, crash, job }).devices;
		const { status, attempts, previousCrash, previousJob } = offered ?? {};
		assert.deepEqual([status, attempts, previousCrash, previousJob], ["offered", 1, "c1", 7]);
		const retried = { ...queued("next", 0), attempts: 1 };
		const rollout = { ...sampleRollout(["next"]), head: updateHead(firstHead, { status: "running" }) };
		const change = advance(
			apply(rollout, { devices: [retried] }),
			() => ({ ...seen, version: "1.4.0" }),
			timing,
		);
		assert.deepEqual(
			change.devices.map((step) => [step.status, step.attempts]),
			[["soaking", 1]],
		);
	});
});

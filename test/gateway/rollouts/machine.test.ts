import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { DeviceStatus } from "../../../gateway/api/statuses.js";
import { executeCommand } from "../../../gateway/rollouts/commands.js";
import { type DeviceSnapshot, queued, withStatus } from "../../../gateway/rollouts/device-step.js";
import { advance, apply, type Change, firstHead, updateHead } from "../../../gateway/rollouts/machine.js";
import { sampleRollout } from "./sample-rollout.js";

const seen: DeviceSnapshot = {
	model: "DEV-1",
	chip: "esp32s3",
	version: "1.0.0",
	isConnected: true,
	isAvailable: true,
	isElsewhere: false,
	isInherited: false,
	isReturning: false,
};
const timing = { now: 1, isDue: true, isOpen: true, isLate: false, graceMs: 0 };
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
			for (const [group, statuses, isPaused] of rows) {
				const { head } = advanced(group, statuses);
				assert.equal(head?.pausedBecause === "failures", isPaused, JSON.stringify([group, statuses]));
			}
		});

	test("does not offer the place of a retried device that is offline to a device of a later group", () => {
		const groups = [
			{ size: 1, errorThreshold: { count: 1, minExecuted: 10 }, ...rest },
			{ size: "rest" as const, errorThreshold: { count: 9, minExecuted: 10 }, ...rest },
		];
		const failed = { ...withStatus(queued("a", 0), "failed", 0), group: 0 };
		let rollout = apply(sampleRollout(["a", "b"], { groups }), {
			head: updateHead(firstHead, { status: "paused", pausedBecause: "failures" }),
			devices: [failed],
		});
		for (const command of ["retry", "resume"] as const) {
			const change = executeCommand(rollout, command, timing);
			rollout = typeof change === "string" ? assert.fail(change) : apply(rollout, change);
		}
		const offered = (change: Change) => change.devices.map(({ deviceId, group }) => [deviceId, group]);
		const isBack = (isAvailable: boolean) =>
			advance(rollout, (id) => ({ ...seen, isAvailable: isAvailable || id === "b" }), timing);
		assert.deepEqual(offered(isBack(false)), []);
		assert.deepEqual(offered(isBack(true)), [["a", 0]]);
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
		const steps = change.devices.map((step) => [step.status, step.attempts]);
		assert.deepEqual(steps, [["soaking", 1]]);
	});
});

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { DeviceStep, Rollout } from "../../../gateway/api/rollout.js";
import { type DeviceSnapshot, queued, type Timing } from "../../../gateway/rollouts/device-step.js";
import { advance, apply, firstHead } from "../../../gateway/rollouts/machine.js";
import { parsePlan, storedPlan } from "../../../gateway/rollouts/plan.js";
import type { LatestCrash } from "../../../gateway/services/devices.js";

const images = [{ model: "DEV-1", chip: "esp32s3", sha256: "0".repeat(64) }] as const;
const firmware = { version: "2.0.0", source: "release", images };
const ids = ["a", "b", "c"];

/** Three devices, two of them soaking after an update from 1.0.0. */
function soaking(crashes: ReadonlyMap<string, LatestCrash>) {
	const groups = [{ size: 2, errorThreshold: { count: 2 } }, { size: "rest" }];
	const asked = parsePlan({ firmware, target: { devices: ids }, groups }, () => ids.length, Date.now());
	let version = "1.0.0";
	const timing: Timing = { now: 1, isDue: true, isOpen: true, isLate: false };
	const seen = (id: string): DeviceSnapshot => ({
		model: "DEV-1",
		chip: "esp32s3",
		version: id === "c" ? "1.0.0" : version,
		isConnected: true,
		isAvailable: true,
		offer: "sent",
		crash: crashes.get(id),
		isInherited: false,
		isReturning: false,
	});
	let rollout: Rollout = {
		id: "x",
		createdAt: 0,
		asked: {},
		plan: storedPlan({ ...asked, firmware }),
		head: firstHead,
		devices: new Map(ids.map((id): [string, DeviceStep] => [id, queued(id, 0)])),
	};
	const step = () => {
		rollout = apply(rollout, advance(rollout, seen, timing));
		return { head: rollout.head, statuses: [...rollout.devices.values()].map(({ status }) => status) };
	};
	assert.deepEqual(step().statuses, ["offered", "offered", "queued"]);
	version = "2.0.0";
	assert.deepEqual(step().statuses.slice(0, 2), ["soaking", "soaking"]);
	return { step, reasonOf: (id: string) => rollout.devices.get(id)?.reason };
}

const crashOf = (id: string, version: string): LatestCrash => ({ id, version, kind: "exception" });

describe("soaking device", () => {
	test("fails by a crash of the new version, counted for its group's threshold", () => {
		const crashes = new Map<string, LatestCrash>();
		const { step, reasonOf } = soaking(crashes);
		crashes.set("a", crashOf("1a", "2.0.0"));
		assert.deepEqual(step().statuses, ["failed", "soaking", "queued"]);
		assert.equal(reasonOf("a"), "The new firmware crashed (exception).");
		assert.equal(step().head.status, "running");
		crashes.set("b", crashOf("2b", "2.0.0"));
		const { head, statuses } = step();
		assert.deepEqual(statuses, ["failed", "failed", "queued"]);
		assert.deepEqual([head.status, head.pausedBecause], ["paused", "failures"]);
	});

	test("does not fail by an earlier crash or one of another version", () => {
		const crashes = new Map([["a", crashOf("1a", "2.0.0")]]);
		const { step } = soaking(crashes);
		crashes.set("b", crashOf("2b", "1.0.0"));
		assert.deepEqual(step().statuses, ["soaking", "soaking", "queued"]);
		crashes.set("a", crashOf("3c", "2.0.0"));
		assert.deepEqual(step().statuses, ["failed", "soaking", "queued"]);
	});
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeviceStep, Rollout } from "../../../gateway/api/rollout.js";
import type { UpdateJob } from "../../../gateway/firmware/update-job.js";
import { type DeviceSnapshot, observe } from "../../../gateway/rollouts/device-step.js";
import { firstHead } from "../../../gateway/rollouts/machine.js";
import { parsePlan } from "../../../gateway/rollouts/plan.js";

const plan = parsePlan({ firmware: { version: "2.0.0" }, target: { model: "DEV-1" } }, () => 10, 0);
const firmware = { version: "2.0.0", source: "release", images: [] } as const;
const step: DeviceStep = { deviceId: "dev-1-aaaaaa", status: "offered", at: 0, attempts: 1, group: 0 };
const rollout: Rollout = {
	id: "autumn",
	createdAt: 0,
	asked: undefined,
	plan: { ...plan, firmware },
	head: firstHead,
	devices: new Map([[step.deviceId, step]]),
};
const timing = { now: 400_000, isDue: true, isOpen: true, isLate: false };
/** Silent update started by the gateway's previous run. */
const away: DeviceSnapshot = {
	model: "DEV-1",
	chip: "esp32s3",
	version: "1.0.0",
	isConnected: false,
	isAvailable: false,
	job: { status: "failed", silent: true, startedAt: 1, version: "2.0.0" },
	isInherited: true,
	isReturning: true,
};

test("decides a silent update of the previous run after time to reconnect", () => {
	const statusOf = (seen: DeviceSnapshot) => observe(rollout, step, () => seen, timing).status;
	assert.equal(statusOf(away), "offered");
	assert.equal(statusOf({ ...away, isConnected: true, isReturning: false }), "queued", "treated as sent");
	assert.equal(statusOf({ ...away, isReturning: false }), "timed_out");
});

test("follows a device that timed out once it is connected, unless its update failed", () => {
	const lost: DeviceStep = { ...step, status: "timed_out" };
	const statusOf = (job: Partial<UpdateJob>, seen: Partial<DeviceSnapshot> = {}, from = lost) => {
		const connected = { ...away, isConnected: true, isReturning: false };
		const version = job.status === "updated" ? "2.0.0" : "1.0.0";
		const whole = { status: "failed", startedAt: 1, version: "2.0.0", ...job } as const;
		return observe(rollout, from, () => ({ ...connected, version, job: whole, ...seen }), timing).status;
	};
	assert.equal(statusOf({ status: "failed", silent: true }), "timed_out");
	assert.equal(statusOf({ status: "failed" }), "timed_out");
	assert.equal(statusOf({ status: "downloading" }), "downloading");
	assert.equal(statusOf({ status: "updated" }), "soaking");
	assert.equal(statusOf({ status: "updated" }, { isConnected: false }), "timed_out");
	assert.equal(statusOf({ status: "rolled_back" }), "rolled_back");
	assert.equal(statusOf({ status: "updated", version: "3.0.0" }), "timed_out", "another update");
	assert.equal(
		statusOf({ status: "updated" }, {}, { ...lost, previousJob: 1 }),
		"timed_out",
		"an earlier one",
	);
	assert.equal(statusOf({ status: "updated" }, {}, { ...lost, attempts: 0 }), "timed_out", "no attempt");
	assert.equal(
		observe(rollout, lost, () => undefined, timing),
		lost,
		"forgotten",
	);
});

test("distinguishes images of the same version if both are known", () => {
	const [target, other] = ["1".repeat(16), "2".repeat(16)] as const;
	const image = { model: "DEV-1", chip: "esp32s3", sha256: "", imageId: target } as const;
	const pinned: Rollout = { ...rollout, plan: { ...plan, firmware: { ...firmware, images: [image] } } };
	const statusOf = (status: DeviceStep["status"], seen: Partial<DeviceSnapshot>) => {
		const snapshot = { ...away, version: "2.0.0", isConnected: true, job: undefined, ...seen };
		const attempts = status === "queued" ? 0 : 1;
		return observe(pinned, { ...step, status, attempts }, () => snapshot, timing).status;
	};
	assert.equal(statusOf("queued", { imageId: target }), "already_installed");
	assert.equal(statusOf("queued", { imageId: other }), "queued", "another image counts as installed");
	assert.equal(statusOf("queued", {}), "already_installed");
	assert.equal(statusOf("soaking", { imageId: target }), "succeeded");
	assert.equal(statusOf("soaking", { imageId: other }), "rolled_back", "another image counts as installed");
	const downloading = { status: "downloading", startedAt: 1, version: "2.0.0" } as const;
	assert.equal(statusOf("offered", { imageId: other, job: downloading }), "downloading");
});

test("waits for reconnects after a gateway start before a timeout", () => {
	const lost: DeviceSnapshot = { ...away, job: undefined };
	for (const status of ["downloading", "soaking"] as const) {
		const statusOf = (seen: DeviceSnapshot, version: string) =>
			observe(rollout, { ...step, status }, () => ({ ...seen, version }), { ...timing, now: 3_600_000 })
				.status;
		const version = status === "soaking" ? "2.0.0" : "1.0.0";
		assert.equal(statusOf(lost, version), status);
		assert.equal(statusOf({ ...lost, isReturning: false }, version), "timed_out");
	}
});

test("marks a soaking device that reverts as rolled back, even after an apparent failure", () => {
	const job = { status: "rolled_back", startedAt: 1, version: "2.0.0", reason: "It went back." } as const;
	const soaking: DeviceStep = { ...step, status: "soaking", previousJob: job.startedAt };
	const statusOf = (seen: Partial<DeviceSnapshot>) =>
		observe(rollout, soaking, () => ({ ...away, job, ...seen }), { ...timing, now: 60_000 }).status;
	assert.equal(statusOf({}), "soaking", "may be about to connect");
	assert.equal(statusOf({ isConnected: true, version: "2.0.0" }), "soaking");
	assert.equal(statusOf({ isConnected: true }), "rolled_back");
});

test("repeats an offer of which the device's gateway has no record", () => {
	const marked: DeviceSnapshot = {
		...away,
		isConnected: true,
		isReturning: false,
		job: undefined,
		offer: "sent",
	};
	const stepAt = (now: number, seen: Partial<DeviceSnapshot> = {}) =>
		observe(rollout, step, () => ({ ...marked, ...seen }), { ...timing, now });
	assert.equal(stepAt(29_999), step, "record may be in flight");
	const again = stepAt(30_000);
	assert.deepEqual([again.status, again.attempts], ["queued", 0]);
	assert.equal(stepAt(30_000, { isConnected: false }), step);
	assert.equal(stepAt(30_000, { version: "2.0.0" }).status, "soaking");
	assert.equal(
		stepAt(30_000, { job: { status: "downloading", startedAt: 2, version: "2.0.0" } }).status,
		"downloading",
	);
});

test("does not downgrade a device updated by a person after an attempt", () => {
	const waiting: DeviceStep = { ...step, status: "queued" };
	const planned = (allowDowngrade = false): Rollout => ({
		...rollout,
		plan: { ...rollout.plan, firmware: { ...firmware, images: [{ sha256: "" }] }, allowDowngrade },
	});
	const statusOf = (version: string, allowDowngrade = false) =>
		observe(planned(allowDowngrade), waiting, () => ({ ...away, isConnected: true, version }), timing).status;
	assert.equal(statusOf("3.0.0"), "rejected");
	assert.equal(statusOf("3.0.0", true), "queued");
	assert.equal(statusOf("2.0.0"), "queued", "it is watched first");
	const isAway = { ...away, version: "3.0.0" };
	assert.equal(
		observe(planned(), waiting, () => isAway, timing).status,
		"queued",
		"it may return with another",
	);
});

test("compares versions of other vendors by precedence", () => {
	const images = [{ sha256: "" }];
	const next: Rollout = {
		...rollout,
		plan: { ...plan, firmware: { ...firmware, version: "1.10.0", images } },
	};
	const statusOf = (version: string, status: DeviceStep["status"], seen: Partial<DeviceSnapshot> = {}) =>
		observe(
			next,
			{ ...step, status, attempts: status === "queued" ? 0 : 1 },
			() => ({ ...away, isConnected: true, isReturning: false, job: undefined, ...seen, version }),
			timing,
		).status;
	for (const version of ["v1.10.0", "1.10", "1.10.0+7"]) {
		assert.equal(statusOf(version, "queued"), "already_installed", version);
		assert.equal(statusOf(version, "soaking"), "succeeded", version);
		const job = { status: "downloading", startedAt: 2, version: "1.10.0" } as const;
		assert.equal(statusOf(version, "rebooting", { job }), "soaking", version);
	}
	assert.equal(statusOf("2.0", "queued"), "rejected");
	assert.equal(statusOf("1.9", "queued"), "queued");
	assert.equal(statusOf("1.9", "soaking"), "rolled_back");
});

test("ignores a late record of another version's update", () => {
	const seen: DeviceSnapshot = {
		...away,
		isConnected: true,
		isReturning: false,
		job: undefined,
		offer: "sent",
	};
	const stepOf = (version: string | undefined) =>
		observe(
			rollout,
			step,
			() => ({ ...seen, job: { status: "updated", startedAt: 2, ...(version && { version }) } }),
			{ ...timing, now: 1_000 },
		).status;
	assert.equal(stepOf("1.9.0"), "offered");
	assert.equal(stepOf("2.0.0"), "soaking");
	assert.equal(stepOf(undefined), "soaking", "it is not known");
});

test("marks another gateway's device as rolled back by its record, or by its version after a delay", () => {
	const soaking: DeviceStep = { ...step, status: "soaking" };
	const job = { status: "updated", startedAt: 2, version: "2.0.0" } as const;
	const seen: DeviceSnapshot = { ...away, isConnected: true, isReturning: false, job };
	const statusAt = (now: number, change: Partial<DeviceSnapshot> = {}) =>
		observe(rollout, soaking, () => ({ ...seen, ...change }), { ...timing, now }).status;
	assert.equal(statusAt(29_999), "soaking");
	assert.equal(statusAt(30_000), "rolled_back");
	assert.equal(statusAt(1, { job: { ...job, status: "rolled_back" } }), "rolled_back");
});

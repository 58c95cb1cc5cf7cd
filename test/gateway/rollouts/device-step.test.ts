import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeviceStep, Plan } from "../../../gateway/api/rollout.js";
import type { UpdateJob } from "../../../gateway/firmware/update-job.js";
import { type DeviceSnapshot, observe } from "../../../gateway/rollouts/device-step.js";
import { sampleRollout } from "./sample-rollout.js";

const deviceId = "dev-1-aaaaaa";
const offered: DeviceStep = { deviceId, status: "offered", at: 0, attempts: 1, group: 0 };
const timing = { now: 400_000, isDue: true, isOpen: true, isLate: false, graceMs: 30_000 };
const other: DeviceSnapshot = {
	model: "DEV-1",
	chip: "esp32s3",
	version: "1.0.0",
	isConnected: true,
	isElsewhere: false,
	isAvailable: false,
	isInherited: true,
	isReturning: false,
};
const updated: DeviceSnapshot = { ...other, version: "1.4.0" };
const away: DeviceSnapshot = { ...other, isConnected: false };
/** May be about to connect, as the gateway has just started. */
const returning: DeviceSnapshot = { ...away, isReturning: true };

function job(status: UpdateJob["status"], values: Partial<UpdateJob> = {}): Pick<DeviceSnapshot, "job"> {
	return { job: { status, startedAt: 1, version: "1.4.0", ...values } };
}
const silent = job("failed", { silent: true });
const downloading = job("downloading");
const success = job("updated");
const rollback = job("rolled_back");

type Row = readonly [
	step: Partial<DeviceStep>,
	seen: DeviceSnapshot | undefined,
	status: DeviceStep["status"],
	given?: { readonly now?: number; readonly plan?: Partial<Plan> },
];

const pending = { offer: "pending" } as const;
const rejected = { offer: { code: "target_offline", message: "It has gone." } } as const;
const lost = { status: "timed_out" } as const;
const soaking = { status: "soaking" } as const;
const waiting = { status: "queued" } as const;
const first = { ...waiting, attempts: 0 };
const crash = { id: "c1", version: "1.4.0", kind: "exception" } as const;
const imageId = "1".repeat(16);
const release = { version: "1.4.0", source: "release" } as const;
const oneImage = { plan: { firmware: { ...release, images: [{ sha256: "", imageId }] } } };
const double = { plan: { firmware: { ...release, version: "1.10.0", images: [{ sha256: "" }] } } };
const otherImage = { ...updated, imageId: "2".repeat(16) };

/** Knowledge of the gateway about a device in a step, and the status of its next step. */
const cases: Readonly<Record<string, readonly Row[]>> = {
	"decides a silent update of the previous run after time to reconnect": [
		[{}, { ...returning, ...silent }, "offered"],
		[{}, { ...other, ...silent }, "queued"],
		[{}, { ...away, ...silent }, "timed_out"],
	],
	"follows a device that timed out once it is connected, unless its update failed": [
		[lost, { ...other, ...silent }, "timed_out"],
		[lost, { ...other, ...job("failed") }, "timed_out"],
		[lost, { ...other, ...downloading }, "downloading"],
		[lost, { ...updated, ...success }, "soaking"],
		[lost, { ...updated, ...success, isConnected: false }, "timed_out"],
		[lost, { ...other, ...rollback }, "rolled_back"],
		[lost, { ...updated, ...job("updated", { version: "3.0.0" }) }, "timed_out"],
		[{ ...lost, previousJob: 1 }, { ...updated, ...success }, "timed_out"],
		[{ ...lost, attempts: 0 }, { ...updated, ...success }, "timed_out"],
		[lost, undefined, "timed_out"],
	],
	"waits for reconnects after a gateway start before a timeout": [
		[{ status: "downloading" }, returning, "downloading", { now: 3_600_000 }],
		[{ status: "downloading" }, away, "timed_out", { now: 3_600_000 }],
		[soaking, { ...returning, version: "1.4.0" }, "soaking", { now: 3_600_000 }],
		[soaking, { ...away, version: "1.4.0" }, "timed_out", { now: 3_600_000 }],
	],
	"marks a soaking device that reverts as rolled back, even after an apparent failure": [
		[{ ...soaking, previousJob: 1 }, { ...returning, ...rollback }, "soaking", { now: 60_000 }],
		[{ ...soaking, previousJob: 1 }, { ...updated, ...rollback }, "soaking", { now: 60_000 }],
		[{ ...soaking, previousJob: 1 }, { ...other, ...rollback }, "rolled_back", { now: 60_000 }],
	],
	"repeats an offer without a record, as its gateway was stopped before it was sent": [
		[{}, other, "offered", { now: 29_999 }],
		[{}, other, "queued", { now: 30_000 }],
		[{}, away, "queued", { now: 30_000 }],
		[{}, { ...other, ...pending }, "offered", { now: 30_000 }],
		[{}, { ...other, ...rejected }, "queued", { now: 1 }],
		[{}, updated, "soaking", { now: 30_000 }],
		[{}, { ...other, ...downloading }, "downloading", { now: 30_000 }],
	],
	"leaves a device to the gateway that it is connected to": [
		[{}, { ...other, isElsewhere: true }, "offered"],
		[first, { ...updated, isElsewhere: true }, "queued"],
		[soaking, { ...other, ...rollback, isElsewhere: true }, "soaking"],
	],
	"removes an unknown device after time to learn of it from another gateway": [
		[waiting, undefined, "queued", { now: 29_999 }],
		[waiting, undefined, "removed", { now: 30_000 }],
	],
	"ignores a late record of another version's update": [
		[{}, { ...other, ...job("updated", { version: "1.3.0" }) }, "offered", { now: 1_000 }],
		[{}, { ...other, ...success }, "soaking", { now: 1_000 }],
		[{}, { ...other, job: { status: "updated", startedAt: 1 } }, "soaking", { now: 1_000 }],
	],
	"marks another gateway's device as rolled back by its record, or by its version after a delay": [
		[soaking, { ...other, ...success }, "soaking", { now: 29_999 }],
		[soaking, { ...other, ...success }, "rolled_back", { now: 30_000 }],
		[soaking, { ...other, ...rollback }, "rolled_back", { now: 1 }],
	],
	"fails by a crash of the new version since the offer": [
		[soaking, { ...updated, crash }, "failed", { now: 1 }],
		[{ ...soaking, previousCrash: "c1" }, { ...updated, crash }, "soaking", { now: 1 }],
		[soaking, { ...updated, crash: { ...crash, version: "1.0.0" } }, "soaking", { now: 1 }],
	],
	"does not downgrade a device updated by a person after an attempt, unless allowed": [
		[waiting, { ...other, version: "3.0.0" }, "rejected"],
		[waiting, { ...other, version: "3.0.0" }, "queued", { plan: { allowDowngrade: true } }],
		[waiting, updated, "queued"],
		[waiting, { ...away, version: "3.0.0" }, "queued"],
	],
	"distinguishes images of the same version if both are known": [
		[first, { ...updated, imageId }, "already_installed", oneImage],
		[first, otherImage, "queued", oneImage],
		[first, updated, "already_installed", oneImage],
		[soaking, { ...updated, imageId }, "succeeded", oneImage],
		[soaking, otherImage, "rolled_back", oneImage],
		[{}, { ...otherImage, ...downloading }, "downloading", oneImage],
	],
	"compares versions of other vendors by precedence": [
		[first, { ...other, version: "v1.10.0" }, "already_installed", double],
		[soaking, { ...other, version: "1.10.0+7" }, "succeeded", double],
		[{}, { ...other, version: "1.10", ...job("rebooting", { version: "1.10.0" }) }, "soaking", double],
		[first, { ...other, version: "2.0" }, "rejected", double],
		[first, { ...other, version: "1.9" }, "queued", double],
		[soaking, { ...other, version: "1.9" }, "rolled_back", double],
	],
};

for (const [what, rows] of Object.entries(cases))
	test(what, () => {
		for (const [step, seen, status, { now = timing.now, plan } = {}] of rows) {
			const rollout = sampleRollout([deviceId], plan);
			const next = observe(rollout, { ...offered, ...step }, () => seen, { ...timing, now });
			assert.equal(next.status, status, JSON.stringify([step, seen]));
		}
	});

test("counts no attempt for an offer that was not sent", () => {
	const next = observe(sampleRollout([deviceId]), offered, () => other, timing);
	assert.deepEqual([next.status, next.attempts], ["queued", 0]);
});

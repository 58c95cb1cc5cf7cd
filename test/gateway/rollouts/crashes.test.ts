import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { DeviceStep, Plan, Rollout } from "../../../gateway/api/rollout.js";
import type { CrashService } from "../../../gateway/extension.js";
import { executeCommand } from "../../../gateway/rollouts/commands.js";
import { type Moment, queued, type Seen } from "../../../gateway/rollouts/device-step.js";
import { createRollouts } from "../../../gateway/rollouts/extension.js";
import { advance, apply, firstHead } from "../../../gateway/rollouts/machine.js";
import { parsePlan, storedPlan } from "../../../gateway/rollouts/plan.js";
import { writeReleases } from "../../support/releases.js";
import { bearer, monitorToken, runGateway, temporaryDirectory } from "../../support/running.js";

const images = [{ model: "DEV-1", chip: "esp32s3", sha256: "0".repeat(64) }] as const;
const ids = ["a", "b", "c", "d"];

/** Four devices, of which two at a time are updated from 1.0.0 and 1.1.0, and counts of crashes that a test changes. */
function run(change: Partial<Plan> = { stopWhen: { crashRate: 3 } }) {
	const firmware = { version: "2.0.0", source: "release", images };
	const target = { devices: ids };
	const groups = [{ size: "rest", concurrency: 2 }];
	const asked = parsePlan({ firmware, target, groups, ...change }, () => ids.length, Date.now());
	const plan = storedPlan({ ...asked, firmware });
	const exposures = new Map([
		["1.0.0", { count: 10, time: 50 }],
		["1.1.0", { count: 0, time: 50 }],
		["1.2.0", { count: 500, time: 50 }],
	]);
	const crashed = new Set<string>();
	const none = { count: 0, time: 0 };
	const crashes: CrashService = {
		exposureOf: (version) => exposures.get(version) ?? none,
		// Without the doubt, so that the bound is known.
		leastRatio: (one, other) => (one.count * other.time) / (one.time * other.count) || 0,
		hasCrashed: (id, version) => version === "2.0.0" && crashed.has(id),
	};
	const moment: Moment = { now: 1, isDue: true, isOpen: true, isLate: false, crashes };
	const seen = (id: string): Seen => ({
		model: "DEV-1",
		chip: "esp32s3",
		version: id === "a" ? "1.0.0" : "1.1.0",
		isConnected: true,
		isAvailable: true,
		offer: "sent",
		isInherited: false,
		isReturning: false,
	});
	let rollout: Rollout = {
		id: "x",
		createdAt: 0,
		asked: {},
		plan,
		head: firstHead,
		devices: new Map(ids.map((id): [string, DeviceStep] => [id, queued(id, 0)])),
	};
	return {
		exposures,
		crashed,
		/** @returns its status, and why it is paused */
		advance() {
			rollout = apply(rollout, advance(rollout, seen, moment));
			return [rollout.head.status, rollout.head.pausedBecause];
		},
		resume() {
			const change = executeCommand(rollout, "resume", moment);
			if (typeof change === "string") throw new Error(change);
			rollout = apply(rollout, change);
		},
		steps: () => [...rollout.devices.values()],
	};
}

const running = ["running", undefined];
const paused = ["paused", "crashes"];

describe("a roll-out whose version crashes", () => {
	test("is paused at the rate of its plan, compared with what its devices ran before", () => {
		const { exposures, crashed, advance, steps } = run();
		assert.deepEqual(advance(), running);
		assert.deepEqual(
			steps().map(({ previousVersion }) => previousVersion),
			["1.0.0", "1.1.0", undefined, undefined],
		);
		for (const id of ["a", "b"]) crashed.add(id);
		// Of 1.0.0 and 1.1.0 together: 0.1.
		exposures.set("2.0.0", { count: 29, time: 100 });
		assert.deepEqual(advance(), running);
		exposures.set("2.0.0", { count: 30, time: 100 });
		assert.deepEqual(advance(), paused);
		assert.deepEqual(
			steps().map(({ status }) => status),
			["offered", "offered", "queued", "queued"],
		);
	});

	test("goes on where its plan says nothing of crashes", () => {
		const { exposures, crashed, advance } = run({});
		advance();
		for (const id of ["a", "b"]) crashed.add(id);
		exposures.set("2.0.0", { count: 1000, time: 1 });
		assert.deepEqual(advance(), running);
	});

	test("goes on where one of several devices crashes", () => {
		const { exposures, crashed, advance } = run();
		advance();
		exposures.set("2.0.0", { count: 1000, time: 1 });
		crashed.add("a");
		assert.deepEqual(advance(), running);
		crashed.add("b");
		assert.deepEqual(advance(), paused);
	});

	test("goes on after a person has resumed it, until further crashes reach the rate", () => {
		const { exposures, crashed, advance, resume } = run();
		advance();
		for (const id of ["a", "b"]) crashed.add(id);
		exposures.set("2.0.0", { count: 30, time: 100 });
		assert.deepEqual(advance(), paused);
		resume();
		assert.deepEqual(advance(), running);
		exposures.set("2.0.0", { count: 59, time: 200 });
		assert.deepEqual(advance(), running);
		exposures.set("2.0.0", { count: 60, time: 200 });
		assert.deepEqual(advance(), paused);
		resume();
		// The counts were lost.
		exposures.set("2.0.0", { count: 1, time: 1 });
		assert.deepEqual(advance(), running);
	});
});

describe("a plan that crashes may stop", () => {
	const put = async (t: TestContext, stopWhen: object, options = {}) => {
		const dataDir = await temporaryDirectory(t);
		const releasesDir = join(dataDir, "releases");
		await writeReleases(releasesDir, [{ version: "1.4.0", model: "DEV-1", chip: "esp32s3" }]);
		const { url } = await runGateway(t, { dataDir, releasesDir, ...options });
		const plan = { firmware: { version: "1.4.0" }, target: { model: "DEV-1" }, stopWhen };
		const body = JSON.stringify(plan);
		const headers = bearer(monitorToken);
		const response = await fetch(`${url}/api/rollouts/x`, { method: "PUT", headers, body });
		return { status: response.status, text: await response.text() };
	};

	test("needs a gateway that counts crashes", async (t) => {
		const { status, text } = await put(t, { crashRate: 3 }, { extensions: [createRollouts] });
		assert.equal(status, 422);
		assert.match(text, /stopWhen cannot be used, as this gateway does not count crashes; leave it out/);
	});

	for (const [what, stopWhen, sentence] of [
		["a rate of less than 1.5", { crashRate: 1.4 }, /stopWhen\.crashRate must be .*1\.5/],
		["a rate of more than 100", { crashRate: 101 }, /stopWhen\.crashRate must be .*100/],
		["no rate", {}, /stopWhen\.crashRate is missing/],
		["another field", { crashRate: 3, crashes: 2 }, /stopWhen\.crashes is not known/],
	] as const)
		test(`is refused with ${what}`, async (t) => {
			const { status, text } = await put(t, stopWhen);
			assert.equal(status, 422);
			assert.match(text, sentence);
		});
});

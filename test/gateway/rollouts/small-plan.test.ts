import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { planWords } from "../../../gateway/api/client/rollout.js";
import { defaultOptions, makePlan, type RequestedPlan } from "../../../gateway/api/client/rollout-plan.js";
import { parsePlan, storedPlan } from "../../../gateway/rollouts/plan.js";
import { eventually } from "../../support/eventually.js";
import { getRollout, postRolloutAction, putRollout, runReleasedFleet } from "../../support/released-fleet.js";
import { writeReleases } from "../../support/releases.js";

const version = { version: "1.4.0" };
const target = (size: number) => ({
	devices: Array.from({ length: size }, (_, index) => `dev-1-${String(index).padStart(6, "0")}`),
});

/** Plan as completed by the gateway. */
function wordsOf(asked: RequestedPlan, size: number): string {
	const firmware = { version: "1.4.0", source: "release", images: [] };
	const plan = storedPlan({ ...parsePlan(asked, () => size, Date.now()), firmware });
	return planWords(plan, Date.now());
}

describe("plan for few devices", () => {
	test("is one sentence, up to 20 devices", () => {
		const words = (size: number) => wordsOf(makePlan(version, target(size), defaultOptions), size);
		assert.equal(words(1), "one after another; pauses at the first failure");
		assert.equal(words(20), words(1));
		assert.match(words(21), /^first 5 devices, 5 at a time, pauses after 2 failures; then the rest, /);
	});

	test("is the same for a model with a known, fixed size", () => {
		const words = (size: number | undefined, standing: boolean) =>
			wordsOf(makePlan(version, { model: "DEV-1" }, { ...defaultOptions, standing }, size), 3);
		assert.match(words(3, false), /^one after another/);
		assert.match(words(3, true), /^first 5 devices.*; includes new devices$/);
		assert.match(words(undefined, false), /^first 5 devices/);
	});

	test("shows chosen options, and has groups on request", () => {
		const words = (change: Partial<typeof defaultOptions>) =>
			wordsOf(makePlan(version, target(3), { ...defaultOptions, ...change }), 3);
		assert.equal(
			words({ soakSeconds: "60" }),
			"one after another; pauses at the first failure; each is watched for 1 min before it counts as updated",
		);
		assert.equal(words({ concurrency: "2" }), "the rest, 2 at a time, pauses after 1 failure");
		assert.equal(words({ maxFailures: "2" }), "the rest, 1 at a time, pauses after 2 failures");
		assert.match(words({ canary: "1" }), /^first 1 device, 5 at a time, .*; then the rest, 20 at a time/);
		assert.match(words({ approval: true }), /then the rest, .*, once approved/);
	});

	test("updates devices of two models, one after another, and stops at the first failure", async (t) => {
		const devices = [
			{ deviceId: "dev-1-000001", ending: "updates" },
			{ deviceId: "proto-1-000002", model: "PROTO-1", ending: "updates" },
			{ deviceId: "dev-1-000003", ending: "rolls back" },
			{ deviceId: "proto-1-000004", model: "PROTO-1", ending: "updates" },
		] as const;
		const { url, releasesDir, fleet } = await runReleasedFleet(t, devices);
		await writeReleases(
			releasesDir,
			(["DEV-1", "PROTO-1"] as const).map((model) => ({ version: "1.4.0", model, chip: "esp32s3" })),
		);
		const keys = devices.map(({ deviceId }) => deviceId);
		const options = { ...defaultOptions, soakSeconds: "0" };
		await putRollout(url, "all", makePlan(version, { devices: keys }, options));
		const paused = await eventually(
			() => getRollout(url, "all"),
			({ status }) => status === "paused",
		);
		assert.equal(paused.pausedBecause, "failures");
		assert.equal(paused.counts.succeeded, 2);
		const asked = () => fleet.map(({ commands }) => commands.length);
		assert.deepEqual(asked(), [1, 1, 1, 0]);
		const urls = fleet.slice(0, 2).map(({ commands }) => JSON.stringify(commands[0]));
		for (const [index, model] of ["dev-1", "proto-1"].entries())
			assert.match(urls[index] ?? "", new RegExp(`firmware-v1\\.4\\.0.*model=${model}`));
		await postRolloutAction(url, "all", "resume");
		await eventually(
			() => getRollout(url, "all"),
			({ status }) => status === "finished",
		);
		assert.deepEqual(asked(), [1, 1, 1, 1]);
	});
});

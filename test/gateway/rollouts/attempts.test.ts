import assert from "node:assert/strict";
import { test } from "node:test";
import { Attempts } from "../../../gateway/rollouts/attempts.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { makeDevice } from "../../support/record-stubs.js";
import { sampleRollout } from "./sample-rollout.js";

test("resets attempts, offer and delay of a device removed and added again", async () => {
	const deviceId = "dev-1-000001";
	const device = makeDevice(deviceId);
	device.setReported(true, 0);
	const devices = new Map([[deviceId, device]]);
	const attempts = new Attempts({
		updates: { trigger: async () => undefined, historyOf: () => [] },
		devices,
		monotonic: () => 0,
		log: createLog("silent"),
	});
	const first = attempts.snapshotOf(deviceId);
	assert.deepEqual([first?.isInherited, first?.offer, first?.isAvailable], [true, undefined, true]);
	await attempts.begin(sampleRollout([deviceId]), deviceId);
	attempts.delay(deviceId);
	const begun = attempts.snapshotOf(deviceId);
	assert.deepEqual([begun?.isInherited, begun?.offer, begun?.isAvailable], [false, undefined, false]);
	devices.clear();
	assert.equal(attempts.snapshotOf(deviceId), undefined);
	devices.set(deviceId, device);
	assert.deepEqual(attempts.snapshotOf(deviceId), first);
});

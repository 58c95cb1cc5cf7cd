import assert from "node:assert/strict";
import { test } from "node:test";
import { Attempts } from "../../../gateway/rollouts/attempts.js";
import { Device, Session } from "../../../gateway/sessions/device.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { sampleRollout } from "./sample-rollout.js";

const deviceId = "dev-1-000001";

/** Attempts for one connected device, with a clock set by the test. */
function attempts() {
	const handshake = { deviceId, isBound: true, model: undefined, chip: undefined, features: [] };
	const link = { send: () => {}, isOpen: () => true, close: () => {} };
	const session = new Session({ ...handshake, remoteAddress: "", baseUrl: "" }, link, 0);
	const device = new Device(deviceId, session);
	device.setReported(true, 0);
	const devices = new Map([[deviceId, device]]);
	const clock = { now: 0 };
	const made = new Attempts({
		updates: { trigger: async () => undefined, historyOf: () => [] },
		devices,
		monotonic: () => clock.now,
		random: () => 0.5,
		log: createLog("silent"),
	});
	return { made, devices, device, session, clock };
}

test("resets attempts, offer and delay of a device removed and added again", async () => {
	const { made, devices, device } = attempts();
	const first = made.snapshotOf(deviceId);
	assert.deepEqual([first?.isInherited, first?.offer, first?.isAvailable], [true, undefined, true]);
	await made.begin(sampleRollout(deviceId), deviceId);
	made.delay(deviceId);
	const begun = made.snapshotOf(deviceId);
	assert.deepEqual([begun?.isInherited, begun?.offer, begun?.isAvailable], [false, "sent", false]);
	devices.clear();
	assert.equal(made.snapshotOf(deviceId), undefined);
	devices.set(deviceId, device);
	assert.deepEqual(made.snapshotOf(deviceId), first);
});

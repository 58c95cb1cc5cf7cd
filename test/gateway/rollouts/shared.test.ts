/** Rollouts that other gateways execute, too. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeviceSnapshot } from "../../../gateway/rollouts/device-step.js";
import { Rollouts } from "../../../gateway/rollouts/rollouts.js";
import { isBehind, updateMembers } from "../../../gateway/rollouts/standing.js";
import { RolloutStore } from "../../../gateway/rollouts/store.js";
import { Device, Session } from "../../../gateway/sessions/device.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { MemoryServer } from "../../support/memory-bus.js";
import { makeHandshake, silentLink } from "../../support/record-stubs.js";
import { sampleRollout } from "./sample-rollout.js";

const deviceId = "dev-1-000001";

test("waits after each read of the log, until the devices of the others are known", async () => {
	const device = new Device(deviceId, new Session(makeHandshake(deviceId), silentLink, 0));
	device.setReported(true, 0);
	let monotonic = 0;
	const store = new RolloutStore({ onProblem: assert.fail });
	const { images } = sampleRollout([]).plan.firmware;
	const rollouts = new Rollouts({
		store,
		isShared: true,
		selection: { pin: async () => ({ version: "1.4.0", source: "release", images }) },
		updates: { trigger: async () => undefined, historyOf: () => [] },
		devices: new Map([[deviceId, device]]),
		now: () => monotonic,
		monotonic: () => monotonic,
		random: () => 0,
		yieldToLoop: async () => {},
		storage: { place: "NATS", status: 503 },
		announce: () => {},
		log: createLog("silent"),
	});
	const bus = new MemoryServer().connect();
	await store.open(await bus.log("gw-rollouts"));
	await rollouts.put("autumn", { firmware: { version: "1.4.0" }, target: { all: true } });
	const statusAfter = async (ms: number) => {
		monotonic += ms;
		await rollouts.advance();
		return rollouts.find("autumn").head.status;
	};
	assert.equal(await statusAfter(9_999), "scheduled");
	bus.cut();
	bus.heal();
	await new Promise((resolve) => setImmediate(resolve));
	assert.equal(await statusAfter(9_999), "scheduled");
	assert.equal(await statusAfter(1), "running");
});

test("lets only the gateway of a device readmit or remove it", () => {
	const own: DeviceSnapshot = {
		model: "DEV-1",
		version: "1.0.0",
		isConnected: true,
		isElsewhere: false,
		isAvailable: true,
		isInherited: false,
		isReturning: false,
	};
	const rollout = sampleRollout([deviceId]);
	for (const [seen, isIts] of [
		[own, true],
		[{ ...own, isElsewhere: true }, false],
	] as const) {
		const changed = (ids: readonly string[]) =>
			updateMembers(
				rollout,
				ids,
				() => false,
				() => seen,
				0,
			).map(({ status }) => status);
		assert.deepEqual(changed([]), isIts ? ["cancelled"] : []);
		assert.deepEqual(changed([deviceId, "dev-1-new"]), isIts ? ["queued"] : []);
		const done = { deviceId, status: "succeeded", at: 0, attempts: 1 } as const;
		assert.equal(
			isBehind(rollout, done, () => seen),
			isIts,
		);
	}
});

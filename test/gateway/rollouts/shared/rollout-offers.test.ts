import assert from "node:assert/strict";
import { test } from "node:test";
import type { UpdateRejection } from "../../../../gateway/firmware/rejections.js";
import { queued, withStatus } from "../../../../gateway/rollouts/device-step.js";
import { apply } from "../../../../gateway/rollouts/machine.js";
import { RolloutOffers } from "../../../../gateway/rollouts/shared/rollout-offers.js";
import { RolloutStore } from "../../../../gateway/rollouts/store.js";
import { waitUntil } from "../../../support/eventually.js";
import { MemoryServer } from "../../../support/memory-bus.js";
import { makeDevice } from "../../../support/record-stubs.js";
import { sampleRollout } from "../sample-rollout.js";

const deviceId = "dev-1-000001";

/** Driver, and another gateway with the device. */
async function run(answer: UpdateRejection | undefined = undefined) {
	const server = new MemoryServer();
	const triggered: (readonly unknown[])[] = [];
	const place = { ofDevice: "owner" };
	const join = async (gatewayId: string) => {
		const bus = server.connect();
		const store = new RolloutStore({ gatewayId, onStale: () => {}, onProblem: () => {} });
		await store.open(await bus.log("gw-rollout-log"));
		const device = makeDevice(deviceId);
		const offers = new RolloutOffers({
			bus,
			id: gatewayId,
			devices: new Map([[deviceId, device]]),
			// The driver may not know yet that a device has moved.
			ownerOf: () => {
				const owner = gatewayId === "driver" ? "owner" : place.ofDevice;
				return owner === gatewayId ? undefined : owner;
			},
			updates: {
				trigger: async (...parameters) => {
					triggered.push(parameters.slice(1));
					return answer;
				},
			},
			store,
			isDriver: () => true,
		});
		return { bus, store, device, offers, stop: offers.serve() };
	};
	const [driver, owner] = [await join("driver"), await join("owner")];
	const created = sampleRollout([deviceId]);
	assert.equal(await driver.store.create(created), true);
	const offered = { ...withStatus(queued(deviceId, 0), "offered", 1), attempts: 1, group: 0 };
	const rollout = apply(created, { devices: [offered] });
	assert.equal(await driver.store.append("autumn", { devices: [offered] }), true);
	return { driver, owner, rollout, triggered, place };
}

test("sends an offer to the device's gateway with its possible images", async () => {
	const { driver, rollout, triggered } = await run();
	assert.equal(await driver.offers.send(rollout, driver.device), undefined);
	assert.deepEqual(triggered, [["1.4.0", ["1".repeat(64), "2".repeat(64)]]]);
});

test("returns the rejection reason of the device's gateway", async () => {
	const rejection = { code: "ota_in_progress", message: "It is being updated." } as const;
	const { driver, rollout } = await run(rejection);
	assert.deepEqual(await driver.offers.send(rollout, driver.device), rejection);
});

test("sends an offer once, even after a driver change", async () => {
	const { driver, owner, rollout, triggered } = await run();
	const both = await Promise.all([driver, driver].map(({ offers }) => offers.send(rollout, driver.device)));
	assert.equal(triggered.length, 1);
	assert.deepEqual(both.map((rejection) => rejection?.code).sort(), ["ota_in_progress", undefined]);
	assert.equal(await owner.offers.recall(rollout, deviceId), undefined, "it was sent");
});

test("does not send an offer recalled by a later driver", async () => {
	const { driver, owner, rollout, triggered } = await run();
	const step = () => driver.store.offerOf("autumn", deviceId);
	while (owner.store.offerOf("autumn", deviceId) < step())
		await new Promise((resolve) => setImmediate(resolve));
	assert.equal((await owner.offers.recall(rollout, deviceId))?.code, "target_offline");
	assert.equal((await driver.offers.send(rollout, driver.device))?.code, "ota_in_progress");
	assert.deepEqual(triggered, []);
});

test("does not send an offer if the gateway is gone or lost the device", async () => {
	const { driver, owner, rollout, triggered, place } = await run();
	place.ofDevice = "another";
	assert.equal((await driver.offers.send(rollout, driver.device))?.code, "target_offline");
	place.ofDevice = "owner";
	owner.device.session.connected = false;
	assert.equal((await driver.offers.send(rollout, driver.device))?.code, "target_offline");
	owner.stop();
	assert.equal((await driver.offers.send(rollout, driver.device))?.code, "target_offline");
	assert.deepEqual(triggered, []);
});

test("treats a sent offer with a lost response as sent", async (t) => {
	const { driver, owner, rollout, triggered } = await run();
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const sent = driver.offers.send(rollout, driver.device);
	await waitUntil(() => triggered.length > 0);
	owner.bus.cut();
	await new Promise((resolve) => setImmediate(resolve));
	t.mock.timers.tick(10_000);
	assert.equal(await sent, undefined);
});

test("marks an offer once as sent or recalled, and no older one after it", async () => {
	const { driver: first, owner: second } = await run();
	assert.equal(await first.offers.mark("autumn", "dev-1-1", 5, true), undefined);
	assert.equal(await second.offers.mark("autumn", "dev-1-1", 5, false), true, "it was sent");
	assert.equal(await second.offers.mark("autumn", "dev-1-1", 7, false), undefined);
	assert.equal(await first.offers.mark("autumn", "dev-1-1", 7, true), false, "it was recalled");
	assert.equal(await first.offers.mark("autumn", "dev-1-1", 6, true), false, "an older one");
	const both = await Promise.all(
		[first, second].map(({ offers }) => offers.mark("autumn", "dev-1-1", 9, true)),
	);
	assert.deepEqual(both.sort(), [true, undefined], "one of two that do it at the same time");
});

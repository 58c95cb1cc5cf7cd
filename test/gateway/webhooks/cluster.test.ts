/** Webhooks of a cluster: each event is sent once. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { noCounts } from "../../../gateway/api/rollout.js";
import { joinGateways } from "../../../gateway/cluster/extension.js";
import type { Core } from "../../../gateway/extension.js";
import { waitUntil } from "../../support/eventually.js";
import { bearer, runGateway, temporaryDirectory } from "../../support/running.js";
import { ScriptedDevice } from "../../support/scripted-device.js";
import { limits } from "../cluster/gateways.js";
import { memoryBuses } from "../cluster/memory-buses.js";
import { Receiver, withHooks } from "./receiver.js";

const minuteMs = 60_000;
let aheadMs = 0;

/** Two gateways on a bus with a receiver of all events. */
async function joining(t: TestContext) {
	const buses = await memoryBuses();
	const receiver = await new Receiver().listen(t);
	const join = async () => {
		const dataDir = await temporaryDirectory(t);
		const cores: Core[] = [];
		const running = await runGateway(t, {
			dataDir,
			now: () => Date.now() + aheadMs,
			monotonic: () => performance.now() + aheadMs,
			...joinGateways(await buses.connect(), dataDir, withHooks([receiver.hook()], cores).extensions),
			limits,
		});
		const [core] = cores;
		assert.ok(core, "the gateway has no core");
		const hook = async (): Promise<{ readonly waiting: number; readonly ended: boolean }> =>
			(await running.api("GET", "/api/webhooks")).body.webhooks[0];
		return { ...running, core, hook };
	};
	return { receiver, join, a: await join(), b: await join() };
}

test("sends each event from one of several gateways; another delivers the failed ones", async (t) => {
	const { receiver, a, b } = await joining(t);
	const device = new ScriptedDevice({ url: a.url, deviceId: "dev-1-00000a" });
	await device.connect();
	await waitUntil(() => b.core.sessions.devices.get("dev-1-00000a")?.session.connected);
	device.close();
	await waitUntil(() => !b.core.sessions.devices.get("dev-1-00000a")?.session.connected);
	const frame = (status: "running" | "finished", revision: number) => {
		const rest = { id: "autumn", pausedBecause: null, counts: noCounts, revision };
		const rollout = { type: "rollout_update", version: "1.4.0", status, ...rest } as const;
		for (const { core } of [a, b]) core.events.emit("rollout", rollout);
	};
	frame("running", 1);
	frame("finished", 2);
	await receiver.until(1);
	// Other gateways may retry a delivery until it is known to have ended.
	for (const { hook } of [a, b]) await waitUntil(async () => (await hook()).waiting <= 0);
	receiver.manner = 500;
	aheadMs += 6 * minuteMs;
	await receiver.until(2);
	await a.gateway.close();
	receiver.manner = 204;
	aheadMs += 2 * minuteMs;
	const received = await receiver.until(3);
	const _returned = await ScriptedDevice.join(t, { url: b.url, deviceId: "dev-1-00000a" });
	await receiver.until(4);
	await setTimeout(100);
	const events = receiver.received.map(({ event }) => event);
	assert.deepEqual(events, ["rollout_finished", "away", "away", "back"]);
	assert.equal(received[1]?.id, received[2]?.id);
});

test("stops each gateway from sending to a receiver that answered it with 410, and drops the queued events of all", async (t) => {
	const { receiver, a, b } = await joining(t);
	const happen = ({ rejected }: typeof a, id: string) =>
		rejected("/device", { ...bearer("a-token-that-is-not-right"), "Device-Id": id });
	receiver.manner = 500;
	await happen(b, "dev-1-00000a");
	await receiver.until(1);
	await waitUntil(async () => (await a.hook()).waiting === 1);
	receiver.manner = 410;
	await happen(a, "dev-1-00000b");
	aheadMs += 2 * minuteMs;
	await waitUntil(async () => (await a.hook()).ended && (await b.hook()).waiting === 0);
	const count = receiver.received.length;
	await happen(a, "dev-1-00000c");
	await happen(b, "dev-1-00000d");
	await waitUntil(async () => (await b.hook()).ended);
	const later = receiver.received.slice(count).map(({ deviceId }) => deviceId);
	assert.ok(!later.includes("dev-1-00000c"), `sent ${later.join()}`);
});

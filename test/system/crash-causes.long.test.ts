/** Crash counts by cause on two gateways on one bus, one of which is killed. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { CrashList } from "../../gateway/api/crash-causes.js";
import { crashOf } from "../gateway/fleet/crashed.js";
import { eventually } from "../support/eventually.js";
import { type ClusterGateway, clusterMissing, startCluster } from "../support/gateway-cluster.js";
import { deviceToken } from "../support/gateway-settings.js";
import { ScriptedDevice } from "../support/scripted-device.js";

test("counts crashes once, whichever gateway receives them, and keeps the counts when gateways are killed", {
	skip: clusterMissing,
}, async (t) => {
	const { gateways } = await startCluster(t, { gateways: 2, servers: 1 });
	const [one, other] = gateways;
	assert.ok(one && other, `only ${gateways.length} gateways`);
	const crash = async ({ url }: ClusterGateway, id: string) => {
		const deviceId = `dev-1-0000${id}`;
		const options = { url, deviceId, token: deviceToken, version: "1.4.0", crash: crashOf(id) };
		const device = await new ScriptedDevice(options).connect();
		t.after(() => device.close());
	};
	const list = (gateway: ClusterGateway) => gateway.call<CrashList>("GET", "crashes");
	const counts = (count: number) => (listed: CrashList) =>
		listed.causes.length === 1 && listed.causes[0]?.count === count && listed.versions[0]?.count === count;

	await Promise.all(["a1", "a2", "a3", "a4"].map((id, index) => crash(index % 2 ? one : other, id)));
	for (const gateway of gateways) await eventually(() => list(gateway), counts(4));
	await one.kill();
	await Promise.all(["b1", "b2"].map((id) => crash(other, id)));
	await eventually(() => list(other), counts(6));
	await other.kill();
	await Promise.all(gateways.map((gateway) => gateway.start()));
	const [first, second] = await Promise.all(gateways.map(list));
	assert.ok(first && second, `only ${gateways.length} gateways`);
	assert.deepEqual(second, first);
	assert.ok(counts(6)(first), `crashes: ${JSON.stringify(first)}`);
	assert.deepEqual([first.causes[0]?.deviceCount, first.dropped], [6, 0]);
});

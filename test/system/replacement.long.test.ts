/** Two gateways on NATS, one of which is killed during replacements; the other one continues. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
	furnish,
	goesOver,
	isAsBefore,
	killMeanwhile,
	pairsOf,
	type Shown,
	settingsOf,
} from "../gateway/replacement/lobby.js";
import { call } from "../support/call.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { eventually } from "../support/eventually.js";
import { clusterMissing, startCluster } from "../support/gateway-cluster.js";
import { ScriptedDevice } from "../support/scripted-device.js";

const count = 6;

test("the other gateway completes each started replacement once, and both reject the old boards", {
	skip: clusterMissing,
}, async (t) => {
	const { releasesDir = "" } = await settingsOf(await temporaryDirectory(t));
	const { gateways } = await startCluster(t, { gateways: 2, servers: 1, releasesDir });
	const [one, other] = gateways;
	assert.ok(one && other, `only ${gateways.length} gateways`);
	const pairs = pairsOf(count);
	for (const { pair, id } of pairs) await furnish(one.url, pair, id);
	for (const { pair, id } of pairs)
		await eventually(
			() => isAsBefore(other.url, pair, id),
			() => true,
		);
	const answered = await killMeanwhile(one, pairs);
	let continued = 0;
	for (const { pair, id } of pairs) {
		const [from, by] = pair;
		const { before = [] } = await call<Shown>(other.url, "GET", `devices/${by}`);
		// It continues by itself; a replacement unknown to it may not have started.
		if (before.length > 0 && !answered.has(id)) continued += 1;
		else if (!answered.has(id)) await other.call("POST", `devices/${from}/replace`, { by });
		await goesOver(other.url, pair, id);
	}
	t.diagnostic(`${answered.size} of ${count} were acknowledged before the end, ${continued} had started`);
	await one.start();
	for (const gateway of gateways) {
		for (const { pair, id } of pairs) await goesOver(gateway.url, pair, id);
		for (const { pair } of pairs) {
			const device = new ScriptedDevice({ url: gateway.url, deviceId: pair[0] });
			await assert.rejects(device.connect(), /410/);
		}
	}
	const { before = [] } = await call<Shown>(other.url, "GET", `devices/${pairs[0]?.pair[1]}`);
	assert.equal(before.length, 1);
});

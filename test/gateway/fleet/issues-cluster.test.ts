/** Tests of issues dismissed at any of several gateways. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { waitUntil } from "../../support/eventually.js";
import { runGateways } from "../cluster/gateways.js";
import { memoryBuses } from "../cluster/memory-buses.js";

const deviceId = "dev-1-a1b2c3";

test("dismisses an issue at all gateways", async (t) => {
	const [a, b] = await runGateways(t, await memoryBuses(), 2);
	const monitors = [await a.watch(), await b.watch()];
	const device = await a.join(deviceId);
	device.close();
	for (const monitor of monitors) await monitor.change("disconnected");
	const attention = async (gateway: typeof a) => {
		const { body } = await gateway.api("GET", `/api/devices/${deviceId}`);
		return Object(body.attention)[0];
	};
	const { since, ...rest } = await attention(b);
	assert.equal(rest.seen, false);
	const seen = { items: [{ kind: "away", id: deviceId, since }] };
	assert.equal((await b.api("POST", "/api/issues/seen", seen)).status, 204);
	await waitUntil(async () => (await attention(a)).seen);
});

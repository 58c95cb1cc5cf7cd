/** Wi-Fi of all devices of a cluster, at any gateway. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../../support/eventually.js";
import { runGateways } from "../cluster/gateways.js";
import { memoryBuses } from "../cluster/memory-buses.js";

test("lists devices of other gateways with access point and reconnects", async (t) => {
	const [a, b] = await runGateways(t, await memoryBuses(), 2);
	const device = await a.join("dev-1-a1b2c3", { report: { "network.reconnects": 1 } });
	device.report({ "network.reconnects": 3, "network.bssid": "02:00:00:00:00:0a", "network.wifi_rssi": -71 });
	const [here, there] = await eventually(
		async () => [(await a.api("GET", "/api/wifi")).body, (await b.api("GET", "/api/wifi")).body],
		([here]) => JSON.stringify(here).includes('"reconnects":2'),
	);
	assert.deepEqual(there, here);
	assert.match(JSON.stringify(there), /02:00:00:00:00:0a.*-71/);
});

/** Tests of board replacement in a cluster. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { call } from "../../support/call.js";
import { eventually, waitUntil } from "../../support/eventually.js";
import { bearer, deviceToken, temporaryDirectory } from "../../support/running.js";
import { ScriptedDevice } from "../../support/scripted-device.js";
import { runGateways } from "../cluster/gateways.js";
import { memoryBuses } from "../cluster/memory-buses.js";
import { isAsBefore, next, old, type Shown, settingsOf, setUp, shows, transfers } from "./lobby.js";

async function run(t: TestContext) {
	const { releasesDir = "", limits = {} } = await settingsOf(await temporaryDirectory(t));
	const buses = await memoryBuses();
	const [a, b] = await runGateways(t, buses, 2, { releasesDir, limits });
	return { buses, a, b };
}

test("rejects the old board and names the new one at each gateway", async (t) => {
	const { a, b } = await run(t);
	await setUp(a.url);
	const device = await b.join(next);
	t.after(() => device.close());
	await shows(a.url, next, ({ connected }) => connected);
	await call(a.url, "POST", `devices/${old}/replace`, { by: next });
	for (const { url } of [a, b]) await transfers(url);
	for (const gateway of [a, b]) {
		const headers = { ...bearer(deviceToken), "Device-Id": old };
		assert.equal((await gateway.rejected("/device", headers)).status, 410);
	}
	device.report();
	await device.receives({ command: "set_brightness", value: 0.25 });
	const { status } = await b.api("DELETE", `/api/devices/${old}/replace`);
	assert.equal(status, 204);
	const _back = await ScriptedDevice.join(t, { url: a.url, deviceId: old });
	await shows(b.url, old, ({ connected }) => connected);
	const { before } = await call<Shown>(a.url, "GET", `devices/${next}`);
	assert.deepEqual(before, []);
});

test("disconnects a replaced board after the gateway reconnects", async (t) => {
	const { buses, a, b } = await run(t);
	await setUp(a.url);
	await shows(b.url, old, ({ name }) => name !== undefined);
	await buses.cut(b.bus);
	await call(a.url, "POST", `devices/${old}/replace`, { by: next });
	const back = await ScriptedDevice.join(t, { url: b.url, deviceId: old });
	await shows(b.url, old, ({ connected }) => connected);
	await buses.heal(b.bus);
	await waitUntil(() => !back.isConnected);
	for (const { url } of [a, b]) await transfers(url);
});

test("completes a replacement whose gateway is lost after its record is written", async (t) => {
	const { buses, a, b } = await run(t);
	await setUp(a.url);
	await eventually(() => isAsBefore(b.url));
	const records = await b.bus.bucket("gw-record-replacements");
	await records.watch((_, entry) => void (entry && buses.cut(a.bus)));
	await assert.rejects(call(a.url, "POST", `devices/${old}/replace`, { by: next }), /50[37]/);
	await transfers(b.url);
});

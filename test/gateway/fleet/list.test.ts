import assert from "node:assert/strict";
import { test } from "node:test";
import { countLoopTurns } from "../../support/counted-turns.js";
import { bearer, monitorToken, runGateway } from "../../support/running.js";
import { ScriptedDevice } from "../../support/scripted-device.js";

test("yields the event loop while listing devices", async (t) => {
	const { turns, extensions } = countLoopTurns();
	const { url } = await runGateway(t, { extensions });
	const body = JSON.stringify({ note: "\u{1f50a}".repeat(500) });
	const count = 100;
	const headers = bearer(monitorToken);
	for (let number = 0; number < count; number++) {
		const deviceId = `dev-1-${String(number).padStart(6, "0")}`;
		const device = await new ScriptedDevice({ url, deviceId }).connect();
		const named = await fetch(`${url}/api/devices/${deviceId}`, { method: "PATCH", headers, body });
		assert.equal(named.status, 200);
		device.close();
	}
	turns.count = 0;
	const text = await (await fetch(`${url}/api/devices`, { headers })).text();
	assert.equal(JSON.parse(text).devices.length, count);
	assert.ok(turns.count >= 2 && turns.count >= Math.floor(text.length / (70 * 1024)), `${turns.count} turns`);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { countLoopTurns } from "../../support/counted-turns.js";
import { runGateway } from "../../support/running.js";
import { ScriptedDevice } from "../../support/scripted-device.js";

test("yields the event loop while listing devices", async (t) => {
	const { turns, extensions } = countLoopTurns();
	const { url, api } = await runGateway(t, { extensions });
	const note = "\u{1f50a}".repeat(500);
	const count = 80;
	for (let number = 0; number < count; number++) {
		const deviceId = `dev-1-${String(number).padStart(6, "0")}`;
		const device = await new ScriptedDevice({ url, deviceId }).connect();
		assert.equal((await api("PATCH", `/api/devices/${deviceId}`, { note })).status, 200);
		device.close();
	}
	turns.count = 0;
	const { text, body } = await api("GET", "/api/devices");
	assert.equal(body.devices.length, count);
	assert.ok(turns.count >= 2 && turns.count >= Math.floor(text.length / (70 * 1024)), `${turns.count} turns`);
});

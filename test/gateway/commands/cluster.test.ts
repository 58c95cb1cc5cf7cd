/** Tests of jobs at any of several gateways for devices of all. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ScriptedDevice } from "../../support/scripted-device.js";
import { runGateways } from "../cluster/gateways.js";
import { memoryBuses } from "../cluster/memory-buses.js";

test("runs a job on devices of all gateways, shown and cancelable at any", async (t) => {
	const [a, b] = await runGateways(t, await memoryBuses(), 2);
	const monitors = [await a.monitor(), await b.monitor()];
	const connect = async (url: string, serial: number, executesCommands = true) => {
		const deviceId = `dev-1-00000${serial}`;
		const _device = await ScriptedDevice.join(t, { url, deviceId, executesCommands });
		for (const monitor of monitors)
			await monitor.until((frame) => (frame.sessions ?? []).some((session) => session.deviceId === deviceId));
	};
	await connect(b.url, 1);
	await connect(a.url, 2);
	await connect(b.url, 3, false);
	for (const { socket } of monitors) socket.terminate();
	const frames = await b.subscribe("commands");
	const payload = { command: "set_volume", value: 7 };
	const { status, body } = await a.api("POST", "/api/commands", { targets: { all: true }, payload });
	assert.equal(status, 202);
	const done = (frame: object) => Object(frame).counts?.done === 2;
	await frames.until((frame) => frame.type === "command_update" && done(frame));
	for (const gateway of [a, b]) {
		const { devices, counts } = (await gateway.api("GET", `/api/commands/${body.id}`)).body;
		assert.deepEqual([devices[0].deviceId, devices[0].state, counts.done], ["dev-1-000003", "asked", 2]);
		assert.equal((await gateway.api("GET", "/api/commands")).body.commands.length, 1);
	}
	assert.equal((await b.api("DELETE", `/api/commands/${body.id}`)).status, 204);
});

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StateReport } from "../../device/protocol/messages.js";
import { models } from "../../device/protocol/schema.js";
import { runFleet } from "../support/fleet.js";

/** Parts of a report that only their own command may change. */
function steadyParts({ system, network, peripherals }: StateReport) {
	const { audio, led_ring, haptic_intensity } = peripherals;
	return { system, network, audio, led_ring, haptic_intensity };
}

for (const model of models)
	describe(`a ${model} in XS, controlled through /monitor`, () => {
		test("reports its actual state when it connects", async (t) => {
			const { powerOn, monitorClient } = await runFleet(t);
			const { device, report } = await powerOn(model);
			const { model: announced, connected } = await monitorClient.change("connected");
			assert.deepEqual({ announced, connected }, { announced: model, connected: true });
			const state = await report();
			assert.equal(state.deviceId, device.deviceId);
			assert.equal(state.system.model, model);
			assert.equal(state.system.mac_address, "02:00:00:a1:b2:c3");
			assert.equal(state.health.reset_reason, "POWERON_RESET");
			assert.equal(state.network.wifi_connected, true);
			assert.equal(state.network.wifi_ssid, "virtual");
			assert.equal(state.network.websocket_connected, true);
			assert.deepEqual(state.peripherals.led_ring, {
				state_id: 5,
				state_name: "rainbow",
				brightness_coef: 0.5,
			});
			assert.deepEqual(state.peripherals.audio, {
				volume: 50,
				player_state: "idle",
				current_track: "none",
			});
			for (const field of ["haptic_intensity", "ambient_light", "touch_active"])
				assert.equal(Object.hasOwn(state.peripherals, field), model === "PROTO-1", field);
		});

		test("closes with 1000 at boot_device and reconnects as a new session", async (t) => {
			const { powerOn, monitorClient } = await runFleet(t);
			const { deviceId, report } = await powerOn(model);
			await report();
			monitorClient.send({ type: "boot_device", targetId: deviceId });
			const boot = await monitorClient.change("boot");
			assert.equal(boot.deviceId, deviceId);
			const back = await monitorClient.change("connected");
			assert.equal(back.deviceId, deviceId);
			assert.notEqual(back.sessionId, boot.sessionId);
			const state = await report();
			assert.equal(state.health.reset_reason, "POWERON_RESET", "the connection restarts, not the device");
			assert.equal(state.peripherals.led_ring.state_id, 5);
		});
	});

test("a PROTO-1 in XS reports each command and changes nothing else", async (t) => {
	const { powerOn } = await runFleet(t);
	const { control, report } = await powerOn("PROTO-1");
	let expected = steadyParts(await report());
	const executes = async (payload: object, change: object) => {
		assert.equal((await control(payload)).type, "ack", JSON.stringify(payload));
		expected = { ...expected, ...change };
		assert.deepEqual(steadyParts(await report()), expected, JSON.stringify(payload));
	};
	for (const volume of [0, 100, 37])
		await executes({ command: "set_volume", value: volume }, { audio: { ...expected.audio, volume } });
	for (const [value, state_id] of [
		["idle", 0],
		["connecting", 3],
		["failed", 2],
		["updating", 6],
		["rainbow", 5],
	] as const)
		await executes(
			{ command: "set_led", value },
			{ led_ring: { ...expected.led_ring, state_id, state_name: value } },
		);
	for (const brightness_coef of [0, 1, 0.25])
		await executes(
			{ command: "set_brightness", value: brightness_coef },
			{ led_ring: { ...expected.led_ring, brightness_coef } },
		);
	await executes({ command: "query_state" }, {});
	for (const value of [100, 0, 60])
		await executes({ command: "set_haptics", value }, { haptic_intensity: value });
});

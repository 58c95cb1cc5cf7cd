import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StateReport } from "../../device/protocol/messages.js";
import { models } from "../../device/protocol/schema.js";
import { runFleet } from "../support/fleet.js";

/** A report's parts that no command but its own may change. */
function steadyParts({ system, network, peripherals }: StateReport) {
	const { audio, led_ring, haptic_intensity } = peripherals;
	return { system, network, audio, led_ring, haptic_intensity };
}

for (const model of models)
	describe(`a ${model} in XS, commanded through /monitor`, () => {
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

		test("shows each command in its next report, and changes nothing else", async (t) => {
			const { powerOn } = await runFleet(t);
			const { control, report } = await powerOn(model);
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
			if (model === "PROTO-1")
				for (const value of [100, 0, 60])
					await executes({ command: "set_haptics", value }, { haptic_intensity: value });
		});

		test("plays each chime to its end", async (t) => {
			const { powerOn } = await runFleet(t);
			const { device, control, report } = await powerOn(model);
			await report();
			for (const value of ["startup", "wifi_connecting", "wifi_connected"]) {
				await control({ command: "play_audio", value });
				const playing = await report((state) => state.peripherals.audio.player_state === "playing");
				assert.equal(playing.peripherals.audio.current_track, `file:///chimes/${value}`);
				const idle = await report((state) => state.peripherals.audio.player_state === "idle");
				assert.equal(idle.peripherals.audio.current_track, "none");
			}
			assert.equal(device.board.sound.filter((samples) => samples.some((byte) => byte !== 0)).length, 3);
		});

		test("gets no invalid values: they are refused with a reason and change nothing", async (t) => {
			const { powerOn } = await runFleet(t);
			const { control, report } = await powerOn(model);
			const before = steadyParts(await report());
			for (const payload of [
				{ command: "set_volume", value: 101 },
				{ command: "set_volume", value: "50" },
				{ command: "set_volume" },
				{ command: "set_led", value: "off" },
				{ command: "set_brightness", value: 1.5 },
				{ command: "play_audio", value: "song" },
				{ command: "reboot" },
				{},
			]) {
				const answer = await control(payload);
				assert.equal(answer.code, "invalid_command", JSON.stringify(payload));
				assert.match(String(answer.message), /must be|is missing/);
			}
			await control({ command: "query_state" });
			assert.deepEqual(steadyParts(await report()), before);
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

test("a DEV-1 is not sent what only a PROTO-1 can do, and would refuse it", async (t) => {
	const { powerOn } = await runFleet(t);
	const { control, report } = await powerOn("DEV-1");
	await report();
	const answer = await control({ command: "set_haptics", value: 50 });
	assert.equal(answer.code, "unsupported_command");
	assert.match(String(answer.message), /PROTO-1 only/);
});

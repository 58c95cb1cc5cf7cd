import assert from "node:assert/strict";
import { test } from "node:test";
import { extensions } from "../../gateway/extensions.js";
import { withHomeAssistant } from "../../gateway/home-assistant/extension.js";
import { runFleet } from "../support/fleet.js";
import { SimulatedHomeAssistant } from "../support/home-assistant/simulated-home-assistant.js";
import { startMosquitto } from "../support/mosquitto.js";
import { whyMissing } from "../support/programs.js";

test("all entities of two virtual devices work, even after a restart of the broker", {
	skip: whyMissing("mosquitto"),
}, async (t) => {
	const broker = await startMosquitto(t);
	const home = await SimulatedHomeAssistant.start(t, broker);
	const fleet = await runFleet(t, undefined, {
		gatewayName: "hall",
		environment: { SPEECH_COMMAND: "cat" },
		...withHomeAssistant({ extensions }, broker.settings),
	});
	const dev = await fleet.powerOn("DEV-1");
	const proto = await fleet.powerOn("PROTO-1");
	const ids = [dev.deviceId, proto.deviceId];
	const areAvailable = () => ids.every((id) => home.isAvailable(id));
	await home.until(areAvailable);
	const work = async (volume: number) => {
		for (const device of [dev, proto]) {
			const id = device.deviceId;
			await home.command(id, "volume", String(volume));
			await home.shows(id, "volume", String(volume));
			await home.turnOn(id, { brightness: 153 });
			await home.until(() => home.find(id, "ring").brightness === 153);
			await home.command(id, "ring", "OFF");
			await home.shows(id, "ring", "OFF");
			await home.turnOn(id, { effect: "idle", brightness: 128 });
			await home.shows(id, "ring", "ON");
			await device.report(({ peripherals }) => peripherals.led_ring.state_name === "idle");
			await home.command(id, "siren", '{"state":"ON","tone":"startup"}');
			// It may end before its state is published.
			await device.report(({ peripherals }) => peripherals.audio.player_state === "playing");
			await home.shows(id, "siren", "OFF");
			await home.command(id, "identify", "PRESS");
			for (const key of ["signal", "memory", "reset_reason", "firmware"])
				assert.notEqual(home.state(id, key), undefined, key);
			assert.notEqual(home.find(id, "speech").config.command_topic, undefined);
		}
		await home.command(proto.deviceId, "haptics", String(volume));
		await home.shows(proto.deviceId, "haptics", String(volume));
		for (const key of ["light", "touch"]) assert.notEqual(home.state(proto.deviceId, key), undefined, key);
	};
	await work(30);
	const begun = () => home.count(/\/hall\/status$/);
	const before = begun();
	await broker.kill();
	await broker.start();
	await home.until(() => begun() > before && areAvailable());
	await work(45);
	for (const id of ids) await home.command(id, "restart", "PRESS");
	for (const id of ids) await home.shows(id, "reset_reason", "SW_RESET");
	await home.until(areAvailable);
});

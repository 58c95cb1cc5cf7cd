/** Home Assistant with virtual devices and a broker restart, and with a house of 300 devices. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { extensions } from "../../gateway/extensions.js";
import { withHomeAssistant } from "../../gateway/home-assistant/extension.js";
import { eventually } from "../support/eventually.js";
import { runFleet } from "../support/fleet.js";
import { commandLine } from "../support/gateway-settings.js";
import { SimulatedHomeAssistant } from "../support/home-assistant/simulated-home-assistant.js";
import { startMosquitto } from "../support/mosquitto.js";
import { whyMissing } from "../support/programs.js";
import { bearer, monitorToken, noRateLimits, runGateway, temporaryDirectory } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { bytesPerSecond, capture, tone, wav } from "../support/sounds.js";
import { passUntil } from "../support/virtual-time.js";

const skip = { skip: whyMissing("mosquitto") };

test("all entities of two virtual devices work, even after a restart of the broker", skip, async (t) => {
	const broker = await startMosquitto(t);
	const home = await SimulatedHomeAssistant.start(t, broker);
	const settings = { gatewayName: "hall", environment: { SPEECH_COMMAND: "cat" } };
	const fleet = await runFleet(t, undefined, {
		...settings,
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

/** Writes a second of a tone for any text. */
const voice = (samples: Buffer) => `
process.stdin.resume().on("end", () => process.stdout.write(Buffer.from("${wav(samples).toString("base64")}", "base64")));`;

test("a device speaks a text from its first sample to its last", skip, async (t) => {
	const broker = await startMosquitto(t);
	const home = await SimulatedHomeAssistant.start(t, broker);
	const samples = tone(bytesPerSecond);
	const program = join(await temporaryDirectory(t), "voice.mjs");
	await writeFile(program, voice(samples));
	const settings = {
		gatewayName: "hall",
		environment: { SPEECH_COMMAND: commandLine(process.execPath, program) },
	};
	const fleet = await runFleet(t, undefined, {
		...settings,
		...withHomeAssistant({ extensions }, broker.settings),
	});
	const { device, deviceId } = await fleet.powerOn("DEV-1", { clock: "virtual" });
	const captured = capture(device.board);
	await home.until(() => home.isAvailable(deviceId));
	await home.command(deviceId, "speech", "Dinner is ready");
	const headers = bearer(monitorToken);
	const isOver = async () => {
		const listed = await (await fetch(`${fleet.url}/api/announcements`, { headers })).text();
		const { announcements } = JSON.parse(listed);
		return announcements[0]?.counts.played === 1 && announcements[0].endedAt !== null;
	};
	// The siren state alone is ambiguous: the startup chime is a siren too.
	await passUntil(device, eventually(isOver, Boolean));
	await passUntil(device, home.shows(deviceId, "siren", "OFF"));
	// The last samples leave the output some ms after the sound's end.
	await device.machine.advance(100);
	assert.ok(captured().includes(samples), "each sample was played");
});

test("300 devices return after a restart of the broker with 902 messages", skip, async (t) => {
	const broker = await startMosquitto(t);
	const { url } = await runGateway(t, {
		...noRateLimits,
		gatewayName: "hall",
		...withHomeAssistant({ extensions }, broker.settings),
	});
	const ids = Array.from({ length: 300 }, (_, index) => `dev-1-${String(index).padStart(6, "0")}`);
	const devices = await Promise.all(ids.map((deviceId) => new ScriptedDevice({ url, deviceId }).connect()));
	t.after(() => {
		for (const device of devices) device.close();
	});
	const before = await SimulatedHomeAssistant.start(t, broker);
	await before.until(() => ids.every((id) => before.isAvailable(id)));
	before.close();
	await broker.kill();
	await broker.start();
	// Each announced restart resends everything.
	const home = await SimulatedHomeAssistant.start(t, broker, { hasBirth: false });
	const areThere = () => ids.every((id) => home.isAvailable(id));
	await home.until(() => home.devices.size > 0);
	const from = performance.now();
	await home.until(areThere);
	const seconds = (performance.now() - from) / 1000;
	const messages = home.heard.length;
	t.diagnostic(`${messages} messages in ${seconds.toFixed(1)} s`);
	// Discovery, state and availability of each device, and discovery and status of the gateway.
	assert.equal(new Set(home.heard.map(({ topic }) => topic)).size, 300 * 3 + 2);
	// Messages in flight when the broker was killed may be repeated: one of the devices', and the gateway's two.
	assert.ok(messages <= 300 * 3 + 5, `${messages} messages`);
});

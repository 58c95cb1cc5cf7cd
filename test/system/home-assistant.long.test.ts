/** Home Assistant with virtual devices, cut off and restarted in the middle, and with a house of 300 devices. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { extensions } from "../../gateway/extensions.js";
import { withHomeAssistant } from "../../gateway/home-assistant/extension.js";
import { brokerMissing, startMosquitto } from "../gateway/home-assistant/mosquitto.js";
import { ScriptedHomeAssistant } from "../gateway/home-assistant/scripted-home-assistant.js";
import { runFleet } from "../support/fleet.js";
import { runGateway, wholeFleetAtOnce } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";

const skip = { skip: brokerMissing };

test(
	"all entities of two virtual devices work, also after the broker was restarted in the middle",
	skip,
	async (t) => {
		const broker = await startMosquitto(t);
		const home = await ScriptedHomeAssistant.start(t, broker);
		const settings = { mqtt: broker.settings, gatewayName: "hall", speechCommand: ["cat"] };
		const fleet = await runFleet(t, undefined, { ...settings, ...withHomeAssistant({ extensions }) });
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
				await home.command(id, "brightness", "60");
				await home.shows(id, "brightness", "60");
				await home.command(id, "ring", '{"state":"OFF"}');
				await home.until(() => home.state(id, "ring")?.includes('"OFF"') === true);
				await home.command(id, "ring", '{"state":"ON","effect":"idle","brightness":128}');
				await home.until(() => /"ON".*"idle"/.test(home.state(id, "ring") ?? ""));
				await home.command(id, "siren", '{"state":"ON","tone":"startup"}');
				// It may be over before its state is published.
				await device.report(({ peripherals }) => peripherals.audio.player_state === "playing");
				await home.shows(id, "siren", "OFF");
				await home.command(id, "identify", "PRESS");
				for (const key of ["signal", "memory", "reset_reason", "firmware"])
					assert.notEqual(home.state(id, key), undefined, key);
				assert.ok(home.entity(id, "speech").command_topic);
			}
			await home.command(proto.deviceId, "haptics", String(volume));
			await home.shows(proto.deviceId, "haptics", String(volume));
			for (const key of ["light", "touch"]) assert.notEqual(home.state(proto.deviceId, key), undefined, key);
		};
		await work(30);
		const begun = () => home.count(/\/hall\/gateway$/);
		const before = begun();
		await broker.kill();
		await broker.start();
		await home.until(() => begun() > before && areAvailable());
		await work(45);
		for (const id of ids) await home.command(id, "restart", "PRESS");
		for (const id of ids) await home.shows(id, "reset_reason", "SW_RESET");
		await home.until(areAvailable);
	},
);

test("300 devices are all there within 10 s of a start of the broker, each message once", skip, async (t) => {
	const broker = await startMosquitto(t);
	const mqtt = { mqtt: broker.settings, gatewayName: "hall" };
	const { url } = await runGateway(t, { ...wholeFleetAtOnce, ...mqtt, ...withHomeAssistant({ extensions }) });
	const ids = Array.from({ length: 300 }, (_, index) => `dev-1-${String(index).padStart(6, "0")}`);
	const devices = await Promise.all(ids.map((deviceId) => new ScriptedDevice({ url, deviceId }).connect()));
	t.after(() => {
		for (const device of devices) device.close();
	});
	await broker.kill();
	await broker.start();
	const home = await ScriptedHomeAssistant.start(t, broker);
	const areThere = () => ids.every((id) => home.isAvailable(id));
	await home.until(() => home.devices.size > 0);
	const from = performance.now();
	await home.until(areThere);
	const seconds = (performance.now() - from) / 1000;
	const messages = home.heard.length;
	t.diagnostic(`${messages} messages in ${seconds.toFixed(1)} s`);
	assert.ok(seconds < 10, `${seconds} s`);
	// Discovery, availability and 8 states of each, and the gateway's own.
	assert.ok(messages <= 300 * 10 + 1, `${messages} messages`);
	for (const { topic } of home.heard) assert.equal(home.count(new RegExp(`^${topic}$`)), 1, topic);
});

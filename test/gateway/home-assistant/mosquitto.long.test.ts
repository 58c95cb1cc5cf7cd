/** Mosquitto as broker: a killed gateway, TLS and a password. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { extensions } from "../../../gateway/extensions.js";
import { withHomeAssistant } from "../../../gateway/home-assistant/extension.js";
import { Authority } from "../../support/certificates.js";
import { waitUntil } from "../../support/eventually.js";
import { GatewayProcess } from "../../support/gateway-process.js";
import { SimulatedHomeAssistant } from "../../support/home-assistant/simulated-home-assistant.js";
import { startMosquitto, withTls } from "../../support/mosquitto.js";
import { freePort } from "../../support/ports.js";
import { whyMissing } from "../../support/programs.js";
import { recordLog } from "../../support/recorded-log.js";
import { bearer, deviceToken, monitorToken, runGateway, temporaryDirectory } from "../../support/running.js";
import { isWhole, runDevices } from "./start-home.js";

test("shows devices of a killed gateway as unavailable until they reconnect", {
	skip: whyMissing("mosquitto"),
}, async (t) => {
	const broker = await startMosquitto(t);
	const home = await SimulatedHomeAssistant.start(t, broker);
	const gateway = new GatewayProcess(t, await freePort(), {
		DATA_DIR: await temporaryDirectory(t),
		DEVICE_TOKEN: deviceToken,
		MONITOR_TOKEN: monitorToken,
		LOG_LEVEL: "silent",
		MQTT_URL: broker.settings.url,
		GATEWAY_NAME: "The hall/1",
	});
	await gateway.start();
	const ids = Array.from({ length: 100 }, (_, index) => `dev-1-${100_000 + index}`);
	runDevices(t, ids, () => gateway.url);
	await home.until(() => isWhole(home, ids));
	await gateway.kill();
	await home.until(() => ids.every((id) => !home.isAvailable(id)));
	assert.equal(home.states.get("device-gateway/The%20hall%2F1/status"), "offline");
	await home.restart();
	await home.until(() => ids.every((id) => home.devices.has(id) && home.unknown(id).length === 0));
	assert.ok(!ids.some((id) => home.isAvailable(id)), "a device is available");
	await gateway.start();
	await home.until(() => isWhole(home, ids));
});

test("connects with a password and TLS, and retries and logs a wrong password", {
	skip: whyMissing("mosquitto", "mosquitto_passwd", "openssl"),
}, async (t) => {
	const authority = new Authority(await temporaryDirectory(t), "home");
	const certificate = authority.issue("IP:127.0.0.1");
	const { settings } = await startMosquitto(t, await withTls(t, certificate, "home", "secret"));
	const url = settings.url.replace("mqtt:", "mqtts:");
	const ca = Buffer.from(authority.certificate);
	const { lines, log } = recordLog("warn");
	const run = async (password: string) => {
		const mqtt = { ...settings, url, username: "home", password, authority: ca };
		const running = await runGateway(t, { ...withHomeAssistant({ extensions }, mqtt), log });
		return async () => {
			const metrics = await fetch(`${running.url}/metrics`, { headers: bearer(monitorToken) });
			return (await metrics.text()).includes("\ngateway_mqtt_connected 1");
		};
	};
	await waitUntil(await run("secret"));
	assert.equal(lines.length, 0);
	const isConnected = await run("wrong");
	await waitUntil(() => lines.length > 0);
	assert.match(String(lines[0]?.problem), /Not authorized/);
	assert.equal(await isConnected(), false);
});

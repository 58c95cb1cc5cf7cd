/** The gateway as a process that is killed: what the broker says of it then. */

import { test } from "node:test";
import { GatewayProcess } from "../../support/gateway-process.js";
import { SimulatedHomeAssistant } from "../../support/home-assistant/simulated-home-assistant.js";
import { brokerMissing, startMosquitto } from "../../support/mosquitto.js";
import { freePort } from "../../support/ports.js";
import { deviceToken, monitorToken, temporaryDirectory } from "../../support/running.js";
import { ScriptedDevice } from "../../support/scripted-device.js";

const deviceId = "dev-1-a1b2c3";

test("the devices of a gateway that is killed are unavailable, until it runs again and they are back", {
	skip: brokerMissing,
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
	const device = new ScriptedDevice({ url: gateway.url, deviceId });
	t.after(() => device.close());
	await device.connect();
	await home.until(() => home.isAvailable(deviceId));
	await gateway.kill();
	await home.until(() => !home.isAvailable(deviceId));
	await gateway.start();
	await home.until(() => home.states.get("device-gateway/The%20hall%2F1/status") === "online");
	await home.until(() => !home.isAvailable(deviceId));
	await device.connect();
	await home.until(() => home.isAvailable(deviceId));
	await home.command(deviceId, "volume", "12");
	await home.shows(deviceId, "volume", "12");
});

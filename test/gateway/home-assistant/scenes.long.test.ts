/** Long house scenarios: a killed gateway and updates. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedHomeAssistant } from "../../support/home-assistant/simulated-home-assistant.js";
import { startMosquitto } from "../../support/mosquitto.js";
import { isWhole, runDevices, skip, startProcess } from "./start-home.js";

/** @returns ids of this number of DEV-1 */
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `dev-1-${100_000 + index}`);

test("shows devices of a killed gateway as unavailable until they reconnect", skip, async (t) => {
	const broker = await startMosquitto(t);
	const home = await SimulatedHomeAssistant.start(t, broker);
	const gateway = await startProcess(t, { MQTT_URL: broker.settings.url, GATEWAY_NAME: "The hall/1" });
	const ids = numbered(100);
	runDevices(t, ids, () => gateway.url);
	await home.until(() => isWhole(home, ids));
	await gateway.kill();
	await home.until(() => ids.every((id) => !home.isAvailable(id)));
	assert.equal(home.states.get("device-gateway/The%20hall%2F1/status"), "offline");
	await home.restart();
	await home.until(() => ids.every((id) => home.devices.has(id) && home.unknown(id).length === 0));
	assert.deepEqual(
		ids.filter((id) => home.isAvailable(id)),
		[],
	);
	await gateway.start();
	await home.until(() => isWhole(home, ids));
});

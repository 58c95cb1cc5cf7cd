/** Long house scenarios: a killed gateway and updates. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { install } from "../../support/home-assistant/actions.js";
import { SimulatedHomeAssistant } from "../../support/home-assistant/simulated-home-assistant.js";
import { startMosquitto } from "../../support/mosquitto.js";
import { isWhole, runDevices, skip, startHome, startProcess } from "./start-home.js";

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

test("updates 20 devices from Home Assistant with progress", skip, async (t) => {
	const { home, url } = await startHome(t);
	const ids = numbered(20);
	runDevices(t, ids, () => url);
	const update = (id: string) => JSON.parse(home.state(id, "firmware") ?? "{}");
	await home.until(() => ids.every((id) => home.isAvailable(id) && update(id).latest_version === "1.4.0"));
	for (const id of ids) await home.act(id, "firmware", install);
	const seen = new Set<string>();
	await home.until(() => {
		for (const id of ids) if (update(id).in_progress && update(id).update_percentage > 0) seen.add(id);
		return seen.size === ids.length;
	});
	await home.until(() => ids.every((id) => home.isAvailable(id) && update(id).installed_version === "1.4.0"));
	await home.until(() => ids.every((id) => !update(id).in_progress && update(id).update_percentage === null));
	for (const id of ids) assert.equal(home.devices.get(id)?.device.sw_version, "1.4.0");
});

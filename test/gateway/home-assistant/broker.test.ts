/** Tests with a broker that rejects topics. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { extensions } from "../../../gateway/extensions.js";
import { withHomeAssistant } from "../../../gateway/home-assistant/extension.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { waitUntil } from "../../support/eventually.js";
import { SimulatedHomeAssistant } from "../../support/home-assistant/simulated-home-assistant.js";
import {
	type Mosquitto,
	pluginMissing,
	rejectingSubscription,
	startMosquitto,
	withAccessList,
} from "../../support/mosquitto.js";
import { whyMissing } from "../../support/programs.js";
import { bearer, monitorToken, runGateway } from "../../support/running.js";
import { ScriptedDevice } from "../../support/scripted-device.js";

const dev = "dev-1-a1b2c3";
const proto = "proto-1-a1b2c3";

async function run(t: TestContext, { settings }: Mosquitto, username?: string) {
	const clock = { time: 0 };
	/** Logged rejections. */
	const refused: string[] = [];
	const write = (line: string) => {
		const { msg, what, topic, problem } = JSON.parse(line);
		if (msg.startsWith("MQTT: rejected")) refused.push(`${what} ${topic}: ${problem}`);
	};
	const { url } = await runGateway(t, {
		gatewayName: "hall",
		...withHomeAssistant({ extensions }, { ...settings, username }),
		monotonic: () => clock.time,
		log: createLog("warn", { write }),
	});
	for (const deviceId of [dev, proto]) {
		const device = await new ScriptedDevice({ url, deviceId }).connect();
		t.after(() => device.close());
	}
	const metrics = async () => (await fetch(`${url}/metrics`, { headers: bearer(monitorToken) })).text();
	return { url, clock, refused, metrics };
}

test("logs a rejected topic once, counts it, and publishes it once allowed", {
	skip: whyMissing("mosquitto"),
}, async (t) => {
	const everything = "topic readwrite #";
	const own = "user gateway\ntopic read homeassistant/#\ntopic readwrite device-gateway/#";
	const { configuration, write } = await withAccessList(t, `${everything}\n${own}`);
	const broker = await startMosquitto(t, configuration);
	const home = await SimulatedHomeAssistant.start(t, broker);
	const { url, clock, refused, metrics } = await run(t, broker, "gateway");
	for (const id of [dev, proto])
		await home.until(() => home.states.get(`device-gateway/hall/${id}/availability`) === "online");
	assert.deepEqual(refused, [
		"message homeassistant/device/device-gateway/+/config: Publish error: Not authorized (135)",
		"message homeassistant/device/+/config: Publish error: Not authorized (135)",
	]);
	assert.match(await metrics(), /\ngateway_mqtt_refusals_total\{what="message"\} [3-9]\n/);
	assert.equal((await fetch(`${url}/readyz`)).status, 200);
	assert.equal(home.devices.size, 0);
	await write(`${everything}\n${own}\n${everything}`);
	broker.reload();
	clock.time += 60_000;
	await home.until(() => home.isAvailable(dev) && home.isAvailable(proto));
	await home.until(() => home.devices.has("device-gateway/hall"));
	assert.equal(refused.length, 2);
});

test("logs a rejected subscription, and keeps the others", {
	skip: whyMissing("mosquitto") || pluginMissing,
}, async (t) => {
	const broker = await startMosquitto(t, await rejectingSubscription(t, "homeassistant/status"));
	const home = await SimulatedHomeAssistant.start(t, broker);
	const { refused, metrics } = await run(t, broker);
	await waitUntil(() => refused.length > 0);
	assert.deepEqual(refused, ["subscription homeassistant/status: Subscribe error: Not authorized (135)"]);
	assert.match(await metrics(), /\ngateway_mqtt_refusals_total\{what="subscription"\} 1\n/);
	await home.until(() => home.isAvailable(dev));
	await home.command(dev, "volume", "12");
	await home.shows(dev, "volume", "12");
});

/** Tests with a broker that rejects topics. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { recordLog } from "../../support/recorded-log.js";
import { bearer, monitorToken } from "../../support/running.js";
import { dev, proto, startHome } from "./start-home.js";

type Rejects = (topic: string, what: "message" | "subscription") => boolean;

async function run(t: Parameters<typeof startHome>[0], rejects: Rejects) {
	const clock = { time: 0 };
	const { lines, log } = recordLog("warn");
	/** Logged rejections. */
	const rejected = () =>
		lines
			.filter(({ msg }) => String(msg).startsWith("MQTT: rejected"))
			.map(({ what, topic, problem }) => `${what} ${topic}: ${problem}`);
	const options = { monotonic: () => clock.time, log };
	const home = await startHome(t, options, rejects);
	for (const id of [dev, proto]) await home.add(id);
	const ask = async (path: string) =>
		(await fetch(`${home.url}/${path}`, { headers: bearer(monitorToken) })).text();
	return { ...home, clock, rejected, ask };
}

test("logs a rejected topic once, counts it, and publishes it once allowed", async (t) => {
	const rejects: Rejects = (topic, what) => what === "message" && topic.endsWith("/config");
	const { broker, home, clock, rejected, ready, ask } = await run(t, rejects);
	for (const id of [dev, proto])
		await home.until(() => home.states.get(`device-gateway/hall/${id}/availability`) === "online");
	assert.deepEqual(rejected(), [
		"message homeassistant/device/device-gateway/+/config: Publish error: Not authorized (135)",
		"message homeassistant/device/+/config: Publish error: Not authorized (135)",
	]);
	assert.match(await ask("metrics"), /\ngateway_mqtt_rejections_total\{what="message"\} [3-9]\n/);
	assert.match(await ask("readyz"), /ready/);
	assert.equal(home.devices.size, 0);
	broker.rejects = () => false;
	clock.time += 60_000;
	await ready(dev, proto);
	await home.until(() => home.devices.has("device-gateway/hall"));
	assert.equal(rejected().length, 2);
});

test("logs a rejected subscription, and keeps the others", async (t) => {
	const rejects: Rejects = (topic, what) => what === "subscription" && topic === "homeassistant/status";
	const { home, rejected, ready, ask } = await run(t, rejects);
	await ready(dev);
	assert.deepEqual(rejected(), ["subscription homeassistant/status: Subscribe error: Not authorized (135)"]);
	assert.match(await ask("metrics"), /\ngateway_mqtt_rejections_total\{what="subscription"\} 1\n/);
	await home.command(dev, "volume", "12");
	await home.shows(dev, "volume", "12");
});

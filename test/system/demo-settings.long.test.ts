import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { runDemo } from "../support/demo.js";
import { SimulatedHomeAssistant } from "../support/home-assistant/simulated-home-assistant.js";
import { startMosquitto } from "../support/mosquitto.js";
import { isNatsOld, startNats } from "../support/nats.js";
import { whyMissing } from "../support/programs.js";
import { bearer, Client, monitorToken, temporaryDirectory } from "../support/running.js";

test("the demo loads the files and servers of WEBHOOKS_FILE, MQTT_URL and NATS_URL like npm start", {
	skip: whyMissing("mosquitto", "nats-server"),
}, async (t) => {
	const folder = await temporaryDirectory(t);
	const hooks = join(folder, "webhooks.json");
	await writeFile(hooks, JSON.stringify([{ url: "http://127.0.0.1:9/hook", secret: "x".repeat(16) }]));
	const broker = await startMosquitto(t);
	const nats = await startNats(t);
	const home = await SimulatedHomeAssistant.start(t, broker);
	const { url, dev, proto, command } = await runDemo(t, folder, {
		WEBHOOKS_FILE: hooks,
		MQTT_URL: broker.settings.url,
		NATS_URL: nats.url,
		NATS_ALLOW_OLD: isNatsOld ? "1" : "0",
		GATEWAY_NAME: "demo",
	});
	await home.until(() => home.isAvailable(dev) && home.isAvailable(proto));
	const listed = await fetch(`${url}/api/webhooks`, { headers: bearer(monitorToken) });
	assert.equal(JSON.parse(await listed.text()).webhooks.length, 1);
	const watched = `${url.replace("http", "ws")}/monitor?cluster`;
	const monitor = new Client(watched, { headers: bearer(monitorToken) });
	await monitor.until(({ type }) => type === "cluster_update");
	monitor.socket.terminate();
	command.process.kill("SIGTERM");
	assert.equal(await command.exitCode, 0, command.output());
});

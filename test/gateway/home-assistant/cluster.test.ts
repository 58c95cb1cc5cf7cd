/** Several gateways on one broker: each publishes its own devices. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { joinGateways } from "../../../gateway/cluster/join.js";
import { extensions } from "../../../gateway/extensions.js";
import { withHomeAssistant } from "../../../gateway/home-assistant/extension.js";
import { GatewayProcess } from "../../support/gateway-process.js";
import { isNatsOld, natsMissing, startNats } from "../../support/nats.js";
import { freePort } from "../../support/ports.js";
import { deviceToken, monitorToken, runGateway, temporaryDirectory } from "../../support/running.js";
import { ScriptedDevice } from "../../support/scripted-device.js";
import { limits } from "../cluster/gateways.js";
import { memoryBuses } from "../cluster/memory-buses.js";
import { brokerMissing, startMosquitto } from "./mosquitto.js";
import { ScriptedHomeAssistant } from "./scripted-home-assistant.js";

const deviceId = "dev-1-a1b2c3";

test("a device that changes to another gateway leaves no ghost: it stays available there, and one gateway executes a command", {
	skip: brokerMissing,
}, async (t) => {
	const broker = await startMosquitto(t);
	const home = await ScriptedHomeAssistant.start(t, broker);
	const buses = await memoryBuses();
	const run = async (gatewayName: string) => {
		const dataDir = await temporaryDirectory(t);
		const joined = joinGateways(await buses.connect(), dataDir, extensions);
		return runGateway(t, {
			dataDir,
			limits,
			gatewayName,
			mqtt: broker.settings,
			...withHomeAssistant(joined),
		});
	};
	const [a, b] = [await run("a"), await run("b")];
	let { url } = a;
	const device = new ScriptedDevice({ url: () => url, deviceId });
	t.after(() => device.close());
	await device.connect();
	await home.until(() => home.isAvailable(deviceId));
	const gateway = () => home.devices.get(deviceId)?.availability[0]?.topic;
	assert.equal(gateway(), "device-gateway/a/status");

	// As a device does whose first connection has not been found dead yet.
	({ url } = b);
	await device.connect();
	await home.until(() => gateway() === "device-gateway/b/status" && home.isAvailable(deviceId));
	device.report({ "peripherals.audio.volume": 12 });
	await home.shows(deviceId, "volume", "12");
	await home.command(deviceId, "volume", "34");
	await home.shows(deviceId, "volume", "34");
	assert.deepEqual(device.commands, [{ command: "set_volume", value: 34 }]);
	assert.ok(home.isAvailable(deviceId));

	// The previous gateway keeps nothing of it at the broker.
	await home.until(() => !home.topics.some((topic) => topic.startsWith(`device-gateway/a/${deviceId}`)));

	await a.gateway.close();
	await home.until(() => home.heard.at(-1)?.topic === "device-gateway/a/status");
	assert.ok(home.isAvailable(deviceId), "its previous gateway is of no importance");
	await b.gateway.close();
	await home.until(() => !home.isAvailable(deviceId));
});

test("two gateways on a real NATS: each publishes its own devices; one that moves away from a killed gateway leaves no ghost", {
	skip: brokerMissing || (natsMissing ?? false),
}, async (t) => {
	const broker = await startMosquitto(t);
	const home = await ScriptedHomeAssistant.start(t, broker);
	const nats = await startNats(t);
	await nats.ready();
	const gateways = await Promise.all(
		["a", "b"].map(async (name) => {
			const gateway = new GatewayProcess(t, await freePort(), {
				DATA_DIR: await temporaryDirectory(t),
				DEVICE_TOKEN: deviceToken,
				MONITOR_TOKEN: monitorToken,
				LOG_LEVEL: "silent",
				MQTT_URL: broker.settings.url,
				NATS_URL: nats.url,
				NATS_ALLOW_OLD: isNatsOld ? "1" : "0",
				GATEWAY_NAME: name,
			});
			await gateway.start();
			return gateway;
		}),
	);
	const [a, b] = gateways;
	assert.ok(a && b);
	const add = async (id: string, url: () => string) => {
		const device = new ScriptedDevice({ url, deviceId: id });
		t.after(() => device.close());
		await device.connect();
		await home.until(() => home.isAvailable(id));
		return device;
	};
	let { url } = a;
	const moving = await add(deviceId, () => url);
	await add("dev-1-00000b", () => b.url);
	const gatewayOf = (id: string) => home.devices.get(id)?.availability[0]?.topic;
	assert.equal(gatewayOf(deviceId), "device-gateway/a/status");
	assert.equal(gatewayOf("dev-1-00000b"), "device-gateway/b/status");
	assert.equal(home.count(/^homeassistant\/device\/dev-1-00000b\/config$/), 1, "by its gateway alone");

	await a.kill();
	await home.until(() => !home.isAvailable(deviceId));
	assert.ok(home.isAvailable("dev-1-00000b"));
	({ url } = b);
	await moving.connect();
	await home.until(() => gatewayOf(deviceId) === "device-gateway/b/status" && home.isAvailable(deviceId));
	await home.command(deviceId, "volume", "34");
	await home.shows(deviceId, "volume", "34");
	await a.start();
	await home.until(() => home.states.get("device-gateway/a/status") === "online");
	await home.until(() => !home.topics.some((topic) => topic.startsWith(`device-gateway/a/${deviceId}`)));
	assert.equal(gatewayOf(deviceId), "device-gateway/b/status");
	assert.ok(home.isAvailable(deviceId));
});

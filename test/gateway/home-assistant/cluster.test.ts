/** Several gateways on one broker: each publishes its own devices. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { joinGateways } from "../../../gateway/cluster/join.js";
import { extensions } from "../../../gateway/extensions.js";
import { withHomeAssistant } from "../../../gateway/home-assistant/extension.js";
import { runGateway, temporaryDirectory } from "../../support/running.js";
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
	assert.equal(gateway(), "device-gateway/a/gateway");

	// As a device does whose first connection has not been found dead yet.
	({ url } = b);
	await device.connect();
	await home.until(() => gateway() === "device-gateway/b/gateway" && home.isAvailable(deviceId));
	device.report({ "peripherals.audio.volume": 12 });
	await home.shows(deviceId, "volume", "12");
	await home.command(deviceId, "volume", "34");
	await home.shows(deviceId, "volume", "34");
	assert.deepEqual(device.commands, [{ command: "set_volume", value: 34 }]);
	assert.ok(home.isAvailable(deviceId));

	// What a gateway says of it late, that has lost it.
	await home.publish(`device-gateway/${deviceId}/availability`, "offline", true);
	await home.until(() => !home.isAvailable(deviceId));
	await home.until(() => home.isAvailable(deviceId));

	await a.gateway.close();
	await home.until(() => home.heard.at(-1)?.topic === "device-gateway/a/gateway");
	assert.ok(home.isAvailable(deviceId), "its previous gateway is of no importance");
	await b.gateway.close();
	await home.until(() => !home.isAvailable(deviceId));
});

/** Tests of several gateways on one broker, each publishing its own devices. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { joinGateways } from "../../../gateway/cluster/join.js";
import { extensions } from "../../../gateway/extensions.js";
import { withHomeAssistant } from "../../../gateway/home-assistant/extension.js";
import { call } from "../../support/call.js";
import { runFast } from "../../support/fast-time.js";
import { startBroker } from "../../support/home-assistant/broker.js";
import { SimulatedHomeAssistant } from "../../support/home-assistant/simulated-home-assistant.js";
import { runGateway, temporaryDirectory } from "../../support/running.js";
import { ScriptedDevice } from "../../support/scripted-device.js";
import { limits } from "../cluster/gateways.js";
import { memoryBuses } from "../cluster/memory-buses.js";
import { skipWithout } from "./start-home.js";

const deviceId = "dev-1-a1b2c3";

async function start(t: TestContext) {
	const { monotonic } = runFast(t, ["setInterval", "setTimeout"]);
	const broker = await startBroker(t);
	const home = await SimulatedHomeAssistant.start(t, broker);
	const run = (gatewayName: string, dataDir: string, joined = { extensions }) =>
		runGateway(t, { monotonic, limits, dataDir, gatewayName, ...withHomeAssistant(joined, broker.settings) });
	/** Name of the gateway that publishes the available device. */
	const place = () => {
		const [topic] = home.devices.get(deviceId)?.availability ?? [];
		return home.isAvailable(deviceId) ? topic?.topic.split("/")[1] : undefined;
	};
	const isGoneFrom = (name: string) =>
		home.until(() => !home.topics.some((topic) => topic.startsWith(`device-gateway/${name}/${deviceId}`)));
	return { home, run, place, isGoneFrom, isAt: (name: string) => home.until(() => place() === name) };
}

test("keeps a device available that moves to another gateway, which alone executes commands", async (t) => {
	const { home, run, place, isAt, isGoneFrom } = await start(t);
	const buses = await memoryBuses();
	const join = async (name: string) => {
		const dataDir = await temporaryDirectory(t);
		return run(name, dataDir, joinGateways(await buses.connect(), dataDir, extensions));
	};
	const [a, b] = [await join("a"), await join("b")];
	let { url } = a;
	const device = new ScriptedDevice({ url: () => url, deviceId });
	t.after(() => device.close());
	await device.connect();
	await isAt("a");
	// Device whose dead connection is not detected yet.
	({ url } = b);
	await device.connect();
	await isAt("b");
	device.report({ "peripherals.audio.volume": 12 });
	await home.shows(deviceId, "volume", "12");
	await home.command(deviceId, "volume", "34");
	await home.shows(deviceId, "volume", "34");
	assert.deepEqual(device.commands, [{ command: "set_volume", value: 34 }]);
	assert.equal(place(), "b");

	if (existsSync("gateway/announcements")) {
		const asked = { url: "http://10.0.0.1/a.wav", targets: { devices: [deviceId] } };
		await call(a.url, "POST", "announcements", asked);
		const announced = () => home.topics.filter((topic) => topic.endsWith(`/${deviceId}/announcement`));
		await home.until(() => announced().length > 0);
		assert.deepEqual(announced(), [`device-gateway/b/${deviceId}/announcement`]);
	}

	await isGoneFrom("a");
	await a.gateway.close();
	await home.until(() => home.states.get("device-gateway/a/status") === "offline");
	assert.equal(place(), "b", "affected by its previous gateway");
	await b.gateway.close();
	await home.until(() => !home.isAvailable(deviceId));
});

const ofFleet = skipWithout("fleet");
test("leaves a device to the gateway of its latest report, without a common bus", ofFleet, async (t) => {
	const { home, run, place, isAt, isGoneFrom } = await start(t);
	const dataOfA = await temporaryDirectory(t);
	let a = await run("a", dataOfA);
	const b = await run("b", await temporaryDirectory(t));
	const add = async (url: string) => {
		const device = new ScriptedDevice({ url, deviceId });
		t.after(() => device.close());
		return device.connect();
	};
	const path = `devices/${deviceId}`;
	/** Waits until a gateway has published everything. */
	const published = async (name: string, begin: () => Promise<unknown>) => {
		const topic = `device-gateway/${name}/status`;
		const count = () => home.heard.filter((each) => each.topic === topic && each.payload === "online").length;
		const before = count();
		await begin();
		await home.until(() => count() > before);
	};
	const birth = () => home.publish("homeassistant/status", "online");
	const first = await add(a.url);
	await isAt("a");
	first.close();
	const second = await add(b.url);
	await isAt("b");
	await isGoneFrom("a");

	const since = home.heard.length;
	await call(a.url, "PATCH", path, { name: "At the old one" });
	await published("a", birth);
	await a.gateway.close();
	await published("a", async () => {
		a = await run("a", dataOfA);
	});
	await published("a", birth);
	await call(a.url, "DELETE", path);
	await published("a", birth);
	assert.equal(place(), "b");
	const configs = home.heard.slice(since).filter(({ topic }) => topic.endsWith(`${deviceId}/config`));
	assert.ok(
		configs.every(({ payload }) => payload.includes("device-gateway/b/")),
		"by the second alone",
	);
	await isGoneFrom("a");

	second.close();
	await home.until(() => !home.isAvailable(deviceId));
	await add(a.url);
	await isAt("a");
	await isGoneFrom("b");
	await call(b.url, "DELETE", path);
	await published("b", birth);
	assert.equal(place(), "a");
});

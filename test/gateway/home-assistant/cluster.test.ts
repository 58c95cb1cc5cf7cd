/** Tests of several gateways on one broker, each publishing its own devices. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { joinGateways } from "../../../gateway/cluster/extension.js";
import { extensions } from "../../../gateway/extensions.js";
import { withHomeAssistant } from "../../../gateway/home-assistant/extension.js";
import { call } from "../../support/call.js";
import { eventually } from "../../support/eventually.js";
import { needs } from "../../support/extensions.js";
import { startBroker } from "../../support/home-assistant/broker.js";
import { SimulatedHomeAssistant } from "../../support/home-assistant/simulated-home-assistant.js";
import { runGateway, temporaryDirectory } from "../../support/running.js";
import { ScriptedDevice } from "../../support/scripted-device.js";
import { limits } from "../cluster/gateways.js";
import { memoryBuses } from "../cluster/memory-buses.js";

const deviceId = "dev-1-a1b2c3";

/**
 * Runs gateways a and b of a cluster.
 * @param isPublishing whether b has the broker
 */
async function runTwo(t: TestContext, { isPublishing }: { readonly isPublishing: boolean }) {
	const broker = await startBroker(t);
	const home = await SimulatedHomeAssistant.start(t, broker);
	const buses = await memoryBuses();
	const run = async (gatewayName: string, hasBroker: boolean) => {
		const dataDir = await temporaryDirectory(t);
		const joined = joinGateways(await buses.connect(), dataDir, extensions);
		const loaded = hasBroker ? withHomeAssistant(joined, broker.settings) : joined;
		return runGateway(t, { dataDir, limits, gatewayName, ...loaded });
	};
	const [a, b] = [await run("a", true), await run("b", isPublishing)];
	const address = { url: a.url };
	const device = new ScriptedDevice({ url: () => address.url, deviceId });
	t.after(() => device.close());
	return { home, a, b, device, address };
}

/** Moves a device from a to b, before a detects that its connection is dead. */
async function moveDevice(t: TestContext, options: { readonly isPublishing: boolean }) {
	const { home, a, b, device, address } = await runTwo(t, options);
	await device.connect();
	await home.until(() => home.isAvailable(deviceId));
	const gateway = () => home.devices.get(deviceId)?.availability[0]?.topic;
	assert.equal(gateway(), "device-gateway/a/status");
	address.url = b.url;
	await device.connect();
	/** Resolves once a has left nothing of the device at the broker. */
	const isRemoved = () =>
		home.until(() => !home.topics.some((topic) => topic.startsWith(`device-gateway/a/${deviceId}`)));
	return { home, a, b, device, gateway, isRemoved };
}

test("keeps a device available that moves to another gateway, which alone executes commands", async (t) => {
	const { home, a, b, device, gateway, isRemoved } = await moveDevice(t, { isPublishing: true });
	await home.until(() => gateway() === "device-gateway/b/status" && home.isAvailable(deviceId));
	device.report({ "peripherals.audio.volume": 12 });
	await home.shows(deviceId, "volume", "12");
	await home.command(deviceId, "volume", "34");
	await home.shows(deviceId, "volume", "34");
	assert.deepEqual(device.commands, [{ command: "set_volume", value: 34 }]);
	assert.ok(home.isAvailable(deviceId), `${deviceId} is unavailable`);

	if (existsSync("gateway/announcements")) {
		const asked = { url: "http://10.0.0.1/a.wav", targets: { devices: [deviceId] } };
		await call(a.url, "POST", "announcements", asked);
		const announced = () => home.topics.filter((topic) => topic.endsWith(`/${deviceId}/announcement`));
		await home.until(() => announced().length > 0);
		assert.deepEqual(announced(), [`device-gateway/b/${deviceId}/announcement`]);
	}

	await isRemoved();
	await a.gateway.close();
	await home.until(() => home.states.get("device-gateway/a/status") === "offline");
	assert.ok(home.isAvailable(deviceId), "affected by its previous gateway");
	await b.gateway.close();
	await home.until(() => !home.isAvailable(deviceId));
});

test("publishes nothing of a device that only another gateway has", async (t) => {
	const { home, a, b, device, address } = await runTwo(t, { isPublishing: false });
	address.url = b.url;
	const sessions = async () => (await a.monitor()).snapshot.sessions;
	const isKnown = (isConnected: boolean) =>
		eventually(sessions, ([known]) => known?.connected === isConnected);
	await device.connect();
	await isKnown(true);
	device.close();
	await isKnown(false);
	// Published after any change of the first device.
	const later = new ScriptedDevice({ url: a.url, deviceId: "dev-1-d4e5f6" });
	await later.connect();
	await home.until(() => home.isAvailable(later.deviceId));
	later.close();
	await home.until(() => !home.isAvailable(later.deviceId));
	const published = home.topics.filter((topic) => topic.includes(deviceId));
	assert.deepEqual(published, []);
});

test("keeps the topics of a device that moved until the other gateway has published it", async (t) => {
	const { home, device, isRemoved } = await moveDevice(t, { isPublishing: false });
	device.close();
	await home.until(() => !home.isAvailable(deviceId));
	assert.ok(home.topics.includes(`device-gateway/a/${deviceId}/state`), "state is removed");

	const topic = `homeassistant/device/${deviceId}/config`;
	const discovery = home.states.get(topic) ?? "";
	await home.publish(topic, discovery.replaceAll("device-gateway/a/", "device-gateway/b/"), true);
	await isRemoved();
});

test("leaves a device to the gateway of its latest report without a bus", needs("fleet"), async (t) => {
	const broker = await startBroker(t);
	const home = await SimulatedHomeAssistant.start(t, broker);
	const run = async (gatewayName: string, dataDir: string) =>
		runGateway(t, { dataDir, gatewayName, ...withHomeAssistant({ extensions }, broker.settings) });
	const dataOfA = await temporaryDirectory(t);
	const a = await run("a", dataOfA);
	const b = await run("b", await temporaryDirectory(t));
	const add = async (url: string) => {
		return ScriptedDevice.join(t, { url, deviceId });
	};
	const path = `devices/${deviceId}`;
	const isAt = (name: string) =>
		home.devices.get(deviceId)?.availability[0]?.topic === `device-gateway/${name}/status` &&
		home.isAvailable(deviceId);
	/** Waits until a gateway has published everything. */
	const published = async (name: string, begin: () => Promise<unknown>) => {
		const topic = new RegExp(`^device-gateway/${name}/status$`);
		const count = () =>
			home.heard.filter((heard) => topic.test(heard.topic) && heard.payload === "online").length;
		const before = count();
		await begin();
		await home.until(() => count() > before);
	};
	const birth = () => home.publish("homeassistant/status", "online");
	const first = await add(a.url);
	await home.until(() => isAt("a"));
	first.close();
	const second = await add(b.url);
	await home.until(() => isAt("b"));
	await home.until(() => !home.topics.some((topic) => topic.startsWith(`device-gateway/a/${deviceId}`)));

	const since = home.heard.length;
	const bySecond = () =>
		home.heard.slice(since).filter(({ topic }) => topic.endsWith("/config") && topic.includes(deviceId));
	await call(a.url, "PATCH", path, { name: "At the old one" });
	await published("a", birth);
	await a.gateway.close();
	// Topics of an earlier connection.
	await home.publish(`device-gateway/a/${deviceId}/availability`, "online", true);
	await published("a", async () => {
		Object.assign(a, await run("a", dataOfA));
	});
	await home.until(() => !home.topics.some((topic) => topic.startsWith(`device-gateway/a/${deviceId}`)));
	await published("a", birth);
	await call(a.url, "DELETE", path);
	await published("a", birth);
	assert.ok(isAt("b"), `${deviceId} is no longer at b`);
	const byOthers = bySecond().filter(({ payload }) => !payload.includes("device-gateway/b/"));
	assert.deepEqual(byOthers, []);
	const left = home.topics.filter((topic) => topic.startsWith(`device-gateway/a/${deviceId}`));
	assert.deepEqual(left, []);

	second.close();
	await home.until(() => !home.isAvailable(deviceId));
	await add(a.url);
	await home.until(() => isAt("a"));
	await home.until(() => !home.topics.some((topic) => topic.startsWith(`device-gateway/b/${deviceId}`)));
	await call(b.url, "DELETE", path);
	await published("b", birth);
	assert.ok(isAt("a"), `${deviceId} is no longer at a`);
});

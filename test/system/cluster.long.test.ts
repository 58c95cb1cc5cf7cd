/** Two gateway processes behind haproxy: the monitor is on one, the device in XS on the other. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import { addRelease } from "../../scripts/release/folder.js";
import { onEnd, temporaryDirectory } from "../support/cleanup.js";
import { eventually } from "../support/eventually.js";
import { type ClusterGateway, clusterMissing, startCluster } from "../support/gateway-cluster.js";
import { bearer, Client, deviceToken, type Frame, monitorToken } from "../support/running.js";

/** Starts two gateways, a release 1.1.0 at the first, a monitor at the second, and devices with 1.0.0. */
async function run(t: TestContext) {
	const releasesDir = join(await temporaryDirectory(t), "releases");
	const { bytes } = await buildFirmware();
	const images = [makeVirtualImage(bytes, "DEV-1", "1.1.0")];
	await addRelease(releasesDir, { version: "1.1.0", date: "2026-01-02", notes: "", images });
	const cluster = await startCluster(t, { gateways: 2, servers: 1, releasesDir });
	const [first, second] = cluster.gateways;
	assert.ok(first && second, `only ${cluster.gateways.length} gateways`);
	await second.knows("1.1.0");
	const open = async (path: string) => {
		const client = new Client(`${second.url.replace("http", "ws")}${path}`, {
			headers: bearer(monitorToken),
		});
		onEnd(t, () => client.socket.terminate());
		await client.next();
		return client;
	};
	const powerOn = async (url: string, serial: string) => {
		const device = await VirtualDevice.start({
			model: "DEV-1",
			serial,
			version: "1.0.0",
			settings: { gateway: `${url.replace("http", "ws")}/device`, token: deviceToken },
		});
		onEnd(t, () => device.close());
		await eventually(
			() => devicesOf(second),
			(devices) =>
				devices.some((each) => each.deviceId === device.deviceId && each.firmwareVersion === "1.0.0"),
		);
		return device.deviceId;
	};
	return { ...cluster, first, second, open, powerOn };
}

interface Shown {
	readonly deviceId: string;
	readonly connected: boolean;
	readonly firmwareVersion: string | null;
}

async function devicesOf(gateway: ClusterGateway): Promise<readonly Shown[]> {
	const { devices } = await gateway.call<{ devices: readonly Shown[] }>("GET", "devices");
	return devices;
}

/** Skips frames up to the end of a device's update. */
async function updateResult(monitor: Client, deviceId: string): Promise<string> {
	const ended = ["updated", "rolled_back", "failed"];
	for (;;) {
		const { sessions = [] }: Partial<Frame> = await monitor.next();
		const session = sessions.find((each) => each.deviceId === deviceId);
		if (session && ended.includes(session.metadata.otaStatus)) return session.metadata.otaStatus;
	}
}

test("executes a command for a device of another gateway and relays its report", {
	skip: clusterMissing,
}, async (t) => {
	const { first, open, powerOn } = await run(t);
	const targetId = await powerOn(first.url, "a1b2c3");
	const monitor = await open("/monitor");
	const payload = { command: "set_volume", value: 25 };
	const answer = await monitor.request({ type: "control_device", targetId, payload, requestId: "1" });
	assert.equal(answer.type, "ack", JSON.stringify(answer));
	await monitor.until(
		({ type, deviceId, message }) =>
			type === "device_message" && deviceId === targetId && JSON.stringify(message).includes('"volume":25'),
	);
	const refused = await monitor.request({ type: "control_device", targetId, payload: { command: "fly" } });
	assert.equal(refused.code, "invalid_command");
});

for (const [what, at] of [
	["updates a device of another gateway", "first"],
	["updates a device to a release of another gateway", "second"],
] as const)
	test(what, { skip: clusterMissing }, async (t) => {
		const cluster = await run(t);
		const { second, open, powerOn } = cluster;
		const targetId = await powerOn(cluster[at].url, "a1b2c3");
		const monitor = await open("/monitor");
		assert.equal((await monitor.request({ type: "trigger_ota", targetId, version: "1.1.0" })).type, "ack");
		assert.equal(await updateResult(monitor, targetId), "updated");
		const shown = await devicesOf(second);
		assert.deepEqual(
			shown.map(({ connected, firmwareVersion }) => [connected, firmwareVersion]),
			[[true, "1.1.0"]],
		);
	});

test("a rollout updates the devices behind the balancer, and any gateway shows it", {
	skip: clusterMissing,
}, async (t) => {
	const { url, gateways, first, second, powerOn } = await run(t);
	for (const serial of ["a1b2c1", "a1b2c2", "a1b2c3", "a1b2c4"]) await powerOn(url, serial);
	const groups = [
		{ size: 1, soakSeconds: 1 },
		{ size: "rest", soakSeconds: 1 },
	];
	const plan = { firmware: { version: "1.1.0" }, target: { model: "DEV-1" }, groups };
	await eventually(
		() => second.call("PUT", "rollouts/autumn", plan),
		() => true,
	);
	const read = (gateway: ClusterGateway) =>
		gateway.call<{ status: string; counts: object }>("GET", "rollouts/autumn");
	await eventually(
		() => read(first),
		({ status }) => status === "finished",
	);
	for (const gateway of gateways) {
		const { counts } = await eventually(
			() => read(gateway),
			({ status }) => status === "finished",
		);
		assert.equal(Object(counts).succeeded, 4, JSON.stringify(counts));
	}
});

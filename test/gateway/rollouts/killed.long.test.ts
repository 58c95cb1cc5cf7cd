import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { onEnd, temporaryDirectory } from "../../support/cleanup.js";
import { waitUntil } from "../../support/eventually.js";
import { GatewayProcess } from "../../support/gateway-process.js";
import { deviceToken, monitorToken } from "../../support/gateway-settings.js";
import { freePort } from "../../support/ports.js";
import { ReconnectingDevice } from "../../support/reconnecting-device.js";
import { writeReleases } from "../../support/releases.js";

interface Answer {
	readonly status: string;
	readonly counts: Readonly<Record<string, number>>;
	readonly devices: readonly unknown[];
}

test("continues a rollout after each SIGKILL of the gateway, and offers nothing twice", async (t: TestContext) => {
	const dataDir = await temporaryDirectory(t);
	const releases = join(dataDir, "releases");
	await writeReleases(releases, [{ version: "1.4.0", model: "DEV-1", chip: "esp32s3" }]);
	const gateway = new GatewayProcess(t, await freePort(), {
		DATA_DIR: dataDir,
		RELEASES_DIR: releases,
		DEVICE_TOKEN: deviceToken,
		MONITOR_TOKEN: monitorToken,
		LOG_LEVEL: "silent",
	});
	await gateway.start();
	const devices = ["dev-1-000001", "dev-1-000002"].map(
		(deviceId) =>
			new ReconnectingDevice({ url: gateway.url, deviceId, reconnectMs: () => 50, updateMs: () => 0 }),
	);
	const [first, second] = devices;
	assert.ok(first && second, `only ${devices.length} devices`);
	const call = (method: string, path: string, body?: object) => gateway.call<Answer>(method, path, body);
	const nextStep = (device: ReconnectingDevice, meant: string) =>
		new Promise<void>((resolve) => {
			device.onStep = (step) => step === meant && resolve();
		});
	const restart = async () => {
		await gateway.kill();
		await gateway.start();
	};

	const known = devices.map((device) => nextStep(device, "reported"));
	const work = devices.map((device) => device.run());
	onEnd(t, async () => {
		for (const device of devices) device.end();
		await Promise.all(work);
	});
	await Promise.all(known);
	const knownIds = async () => (await call("GET", "devices")).devices.length;
	await waitUntil(async () => (await knownIds()) >= devices.length);
	const offered = nextStep(first, "offered");
	const group = { size: "rest", concurrency: 1, soakSeconds: 0 };
	const plan = {
		firmware: { version: "1.4.0" },
		target: { devices: devices.map(({ deviceId }) => deviceId) },
		groups: [group],
	};
	await call("PUT", "rollouts/autumn", plan);
	await offered;
	await restart();
	await nextStep(second, "offered");
	const reported = nextStep(second, "reported");
	await reported;
	await restart();
	for (;;) {
		const { status, counts } = await call("GET", "rollouts/autumn");
		if (status !== "finished") {
			await setTimeout(100);
			continue;
		}
		assert.equal(counts.succeeded, devices.length, JSON.stringify(counts));
		break;
	}
	assert.deepEqual(
		devices.map(({ offers }) => offers),
		[1, 1],
	);
	await call("PUT", "rollouts/autumn", plan);
	assert.equal((await call("GET", "rollouts/autumn")).status, "finished");
});

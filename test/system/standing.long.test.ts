/**
 * Standing rollout over two gateways and NATS: the channel gets one release after another, and each time a gateway is
 * killed (SIGKILL) soon after, from the second time on the leading one.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { onEnd, temporaryDirectory } from "../support/cleanup.js";
import { eventually } from "../support/eventually.js";
import { clusterMissing, type GatewayCluster, startCluster } from "../support/gateway-cluster.js";
import { Random } from "../support/random.js";
import { ReconnectingDevice } from "../support/reconnecting-device.js";
import { writeReleases } from "../support/releases.js";
import { seed, seedNote } from "../support/seed.js";

const count = 12;
const versions = ["1.4.0", "1.5.0", "1.6.0", "1.7.0", "1.8.0"];
/** An offer lost with a gateway ends after 5 minutes of silence, and the next release waits for that. */
const lostMs = 6 * 60_000;

interface Step {
	readonly deviceId: string;
	readonly status: string;
	readonly reason: string | null;
}

test("a standing rollout continues with each release although its leading gateway is killed, and updates no device twice", {
	skip: clusterMissing,
}, async (t) => {
	t.diagnostic(seedNote);
	const random = new Random(seed);
	const releasesDir = join(await temporaryDirectory(t), "releases");
	/** Latest first. */
	const release = (...released: readonly string[]) =>
		writeReleases(
			releasesDir,
			released.map((version) => ({ version, model: "DEV-1", chip: "esp32s3", channel: "beta" })),
			null,
		);
	await release("1.4.0");
	const cluster = await startCluster(t, { gateways: 2, servers: 1, releasesDir });
	const devices = startDevices(t, cluster, random);
	/** Requests the first gateway that responds; one of them may be starting. */
	const call = <T>(path: string, method = "GET", body?: object) =>
		eventually(
			() =>
				Promise.any(cluster.gateways.map((gateway) => gateway.call<T>(method, path, body))).catch(
					({ errors }: AggregateError) => Promise.reject(new Error(errors.join("; "))),
				),
			() => true,
		);
	await eventually(
		() => call<{ devices: readonly { connected: boolean }[] }>("devices"),
		(known) => known.devices.filter(({ connected }) => connected).length === count,
	);
	const plan = {
		firmware: { channel: "beta" },
		target: { all: true },
		standing: true,
		groups: [
			{ size: 3, soakSeconds: 0 },
			{ size: "rest", concurrency: 4, soakSeconds: 1 },
		],
	};
	await call("rollouts/beta", "PUT", plan);
	const lost = new Set<string>();
	for (const [index, version] of versions.entries()) {
		if (index > 0) await release(...versions.slice(0, index + 1).reverse());
		await setTimeout(random.between(0, 3_000));
		const gateway = cluster.gateways[index % 2];
		assert.ok(gateway, `no gateway ${index % 2}`);
		await gateway.kill();
		// Up to the time that the other gateway needs to take over.
		await setTimeout(random.between(0, 15_000));
		await gateway.start();
		const steps = await eventually(
			() => call<{ devices: readonly Step[] }>("rollouts/beta/devices"),
			({ devices: shown }) =>
				devices.every(({ deviceId, version: runs, sent }) => {
					const step = shown.find((each) => each.deviceId === deviceId);
					const isLost = step?.status === "timed_out" && !sent.includes(version);
					if (isLost) lost.add(`${deviceId} ${version}`);
					return isLost || (runs === version && step?.status === "succeeded");
				}),
			2 * lostMs,
		);
		assert.equal(steps.devices.length, count, version);
	}
	t.diagnostic(`${lost.size} offers were lost with a gateway`);
	for (const { deviceId, sent } of devices) {
		const expected = versions.filter((version) => !lost.has(`${deviceId} ${version}`));
		// A release may arrive before the previous one has reached all devices.
		assert.deepEqual([...new Set(sent)], sent, `${deviceId} received one twice`);
		assert.deepEqual(sent, expected, deviceId);
	}
});

function startDevices(
	t: TestContext,
	{ url }: GatewayCluster,
	random: Random,
): readonly ReconnectingDevice[] {
	const devices = Array.from({ length: count }, (_, index) => {
		const draw = random.fork(String(index));
		return new ReconnectingDevice({
			url,
			deviceId: `dev-1-${String(index).padStart(6, "0")}`,
			// Gateways limit clients by address.
			client: { headers: { "X-Forwarded-For": `10.1.0.${index}` } },
			reconnectMs: () => draw.between(200, 800),
			updateMs: () => draw.between(500, 2_000),
		});
	});
	const work = devices.map((device) => device.run());
	onEnd(t, async () => {
		for (const device of devices) device.end();
		await Promise.all(work);
	});
	return devices;
}

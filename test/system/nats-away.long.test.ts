/**
 * All gateways lose NATS in the middle of fifty updates for NATS_AWAY_SECONDS (20). The round before a release
 * takes 600.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { onEnd, temporaryDirectory } from "../support/cleanup.js";
import { eventually } from "../support/eventually.js";
import { clusterMissing, startCluster } from "../support/gateway-cluster.js";
import { bearer, monitorToken } from "../support/gateway-settings.js";
import { Random } from "../support/random.js";
import { ReconnectingDevice } from "../support/reconnecting-device.js";
import { writeReleases } from "../support/releases.js";

const awayMs = 1000 * Number(process.env.NATS_AWAY_SECONDS ?? 20);
const count = 50;

interface Rollout {
	readonly status: string;
	readonly counts: Readonly<Record<string, number>>;
}

test("started updates end without NATS, persistent changes are rejected meanwhile, and the rollout continues afterwards", {
	skip: clusterMissing,
}, async (t) => {
	const random = new Random(1);
	const releasesDir = join(await temporaryDirectory(t), "releases");
	await writeReleases(releasesDir, [{ version: "1.4.0", model: "DEV-1", chip: "esp32s3" }]);
	const { gateways, url } = await startCluster(t, { gateways: 3, servers: 3, releasesDir });
	const [first] = gateways;
	assert.ok(first, "no gateway");
	const devices = Array.from({ length: count }, (_, index) => {
		const deviceId = `dev-1-${String(index).padStart(6, "0")}`;
		const client = { headers: { "X-Forwarded-For": `10.1.0.${index}` } };
		// Half of the updates end before NATS is back.
		const updateMs = () => random.between(Math.min(5_000, awayMs / 4), 1.5 * awayMs);
		return new ReconnectingDevice({ url, deviceId, client, reconnectMs: () => 300, updateMs });
	});
	const runs = devices.map((device) => device.run());
	onEnd(t, async () => {
		for (const device of devices) device.end();
		await Promise.all(runs);
	});
	await eventually(
		() => first.call<{ devices: readonly { connected: boolean }[] }>("GET", "devices"),
		(known) => known.devices.filter(({ connected }) => connected).length === count,
	);
	await Promise.all(gateways.map((gateway) => gateway.knows("1.4.0")));
	const plan = {
		firmware: { version: "1.4.0" },
		target: { model: "DEV-1" },
		groups: [{ size: "rest", concurrency: count, soakSeconds: 1 }],
		maxAttempts: 1,
	};
	await eventually(
		() => first.call("PUT", "rollouts/autumn", plan),
		() => true,
	);
	// On a busy computer later offers take longer and must not fail, and the first updates have ended by now.
	const offered = async () => devices.filter(({ offers }) => offers > 0).length;
	await eventually(offered, (some) => some >= count / 2);
	assert.ok(
		devices.some(({ isUpdating }) => isUpdating),
		"no update is running",
	);
	for (const gateway of gateways) gateway.cut();
	const isUpdated = ({ version }: ReconnectingDevice) => version === "1.4.0";
	const updatedBefore = devices.filter(isUpdated).length;
	const awayUntil = performance.now() + awayMs;
	const headers = { ...bearer(monitorToken), "Content-Type": "application/json" };
	const change = async (method: string, path: string, body: object) => {
		const answer = await fetch(`${first.url}/api/${path}`, { method, headers, body: JSON.stringify(body) });
		return answer.status;
	};
	await eventually(
		() => change("PATCH", "devices/dev-1-000001", { name: "x" }),
		(status) => status === 503,
	);
	await setTimeout(awayUntil - performance.now());
	const updatedWithout = devices.filter(isUpdated).length - updatedBefore;
	t.diagnostic(`${updatedWithout} of ${count} updates ended without NATS`);
	assert.ok(updatedWithout > 0, "none ended");
	assert.equal(await change("PATCH", "devices/dev-1-000001", { name: "x" }), 503);
	for (const gateway of gateways) gateway.heal();
	const { status, counts } = await eventually(
		() => first.call<Rollout>("GET", "rollouts/autumn"),
		(rollout) => rollout.status === "finished",
		300_000 + 2 * awayMs,
	);
	assert.deepEqual([status, counts.succeeded], ["finished", count], JSON.stringify(counts));
	for (const device of devices) {
		assert.ok(isUpdated(device), `${device.deviceId} runs ${device.version}`);
		assert.equal(device.offers, 1, device.deviceId);
	}
	for (const gateway of gateways)
		await eventually(
			() => gateway.call<{ devices: readonly { firmwareVersion: string }[] }>("GET", "devices"),
			(known) => known.devices.every(({ firmwareVersion }) => firmwareVersion === "1.4.0"),
		);
});

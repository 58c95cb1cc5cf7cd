/**
 * Rollout over three gateways and three NATS servers behind haproxy, while gateways and servers are killed, cut off
 * and stopped. CLUSTER_TIMES is the number of each, CLUSTER_KINDS selects them, and TEST_SEED their times.
 *
 * The round before a release takes half an hour, longer than npm test allows a file: CLUSTER_TIMES=20 node --import
 * tsx --test test/system/cluster-kills.long.test.ts
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { onEnd, temporaryDirectory } from "../support/cleanup.js";
import { eventually } from "../support/eventually.js";
import { clusterMissing, type GatewayCluster, startCluster } from "../support/gateway-cluster.js";
import { isNatsOld } from "../support/nats.js";
import { Random } from "../support/random.js";
import { ReconnectingDevice } from "../support/reconnecting-device.js";
import { writeReleases } from "../support/releases.js";
import { seed, seedNote } from "../support/seed.js";

const times = Number(process.env.CLUSTER_TIMES ?? 1);
const allKinds = ["kills a gateway", "kills a server", "cuts a gateway off", "stops a gateway"] as const;
const kinds = allKinds.filter((kind) => kind.includes(process.env.CLUSTER_KINDS ?? ""));
const concurrency = 4;
const maxAttempts = 2;
/** Timeout to agree, which takes less than 10 s (printed); the rest is for a busy computer. */
const agreeMs = 30_000;
/** Time without changes after which a device's state is expected to be correct. */
const steadyMs = 7_000;
/** Offers lost with a gateway end after 5 minutes of silence, and may have occupied all slots. */
const lostMs = 6 * 60_000;
/** A killed replica of nats-server 2.9 may never be current again: "Catchup for stream stalled". */
const oldReplicaMs = 15_000;
/** Time for other gateways to notice and take over. */
const outageMs = [1_000, 16_000] as const;

interface Rollout {
	readonly status: string;
	readonly revision: number;
	readonly counts: Readonly<Record<string, number>>;
}
interface Step {
	readonly deviceId: string;
	readonly status: string;
	readonly attempts: number;
	readonly reason: string | null;
}
interface Shown {
	readonly deviceId: string;
	readonly connected: boolean;
	readonly firmwareVersion: string;
}

test("a rollout keeps its limits while gateways and servers are killed, cut off and stopped", {
	skip: clusterMissing,
}, async (t) => {
	t.diagnostic(seedNote);
	// A long round may be killed before diagnostics are printed.
	if (times > 1) console.log(seedNote);
	const random = new Random(seed);
	const releasesDir = join(await temporaryDirectory(t), "releases");
	await writeReleases(releasesDir, [{ version: "1.4.0", model: "DEV-1", chip: "esp32s3" }]);
	const cluster = await startCluster(t, { gateways: 3, servers: 3, releasesDir });
	const devices = startDevices(t, cluster, random, 70 + 14 * times * kinds.length);
	const [first] = cluster.gateways;
	assert.ok(first, "no gateway");
	await eventually(
		() => devicesOf(cluster, 0),
		(shown) => shown.filter(({ connected }) => connected).length === devices.length,
	);
	await Promise.all(cluster.gateways.map((gateway) => gateway.knows("1.4.0")));
	const errorThreshold = { percent: 100, minExecuted: 10_000 };
	const plan = {
		firmware: { version: "1.4.0" },
		target: { model: "DEV-1" },
		groups: [{ size: "rest", concurrency, soakSeconds: 1, errorThreshold }],
		maxAttempts,
	};
	// The gateways are starting: none may run the rollout yet.
	await eventually(
		() => first.call("PUT", "rollouts/autumn", plan),
		() => true,
	);
	const slowest: Record<string, number> = {};
	const disturbances = Array.from({ length: times }, () => kinds).flat();
	let isReplicaBehind = false;
	for (const [index, kind] of disturbances.entries()) {
		// Two of three servers must be current.
		if (kind === "kills a server" && isReplicaBehind) continue;
		// The leading gateway sees a new rollout a moment after it is stored.
		const before = await eventually(
			() => rolloutOf(cluster, 0),
			({ status }) => status !== "scheduled",
		);
		assert.equal(before.status, "running", `over before ${kind}, number ${index}`);
		const begun = before.counts.succeeded ?? 0;
		await eventually(
			() => rolloutOf(cluster, 0),
			({ counts }) => (counts.succeeded ?? 0) > begun,
			lostMs,
		);
		await setTimeout(random.between(0, 1500));
		const { others, restore } = await disturb(cluster, kind, random);
		const agreedMs = [await agree(cluster, devices, others)];
		await setTimeout(Math.max(0, random.between(...outageMs) - Math.max(...agreedMs)));
		if ((await restore()) === "replica behind") {
			isReplicaBehind = true;
			t.diagnostic(`${kind}, number ${index}: its replica stays behind; no more servers are killed`);
		}
		agreedMs.push(await agree(cluster, devices, cluster.gateways.keys()));
		slowest[kind] = Math.max(slowest[kind] ?? 0, ...agreedMs);
		if (times > 1) console.log(`${kind}: all agree within ${Math.max(...agreedMs)} ms`);
	}
	const steps = await theEnd(cluster, devices);
	for (const [kind, ms] of Object.entries(slowest)) t.diagnostic(`${kind}: all agree within ${ms} ms`);
	const ends: Record<string, number> = {};
	for (const { status } of steps) ends[status] = (ends[status] ?? 0) + 1;
	t.diagnostic(`${devices.length} devices: ${JSON.stringify(ends)}`);
	await agree(cluster, devices, cluster.gateways.keys());
	assert.equal(steps.length, devices.length);
	for (const { deviceId, status, attempts, reason } of steps) {
		const device = devices.find((device) => device.deviceId === deviceId);
		assert.ok(device && device.offers <= maxAttempts, `${deviceId} was offered it ${device?.offers} times`);
		assert.ok(
			device.offers <= attempts,
			`${deviceId} was offered it ${device.offers} times; its attempts: ${attempts}`,
		);
		const isLost = device.offers < attempts;
		assert.ok(status === "succeeded" || isLost, `${deviceId}: ${status}, ${reason}`);
		assert.equal(device.version === "1.4.0", status === "succeeded", `${deviceId} runs ${device.version}`);
	}
});

function startDevices(t: TestContext, { url }: GatewayCluster, random: Random, count: number) {
	const devices: ReconnectingDevice[] = [];
	const problems: string[] = [];
	for (let index = 0; index < count; index++) {
		const draw = random.fork(String(index));
		const device = new ReconnectingDevice({
			url,
			deviceId: `dev-1-${String(index).padStart(6, "0")}`,
			// Gateways limit clients by address.
			client: { headers: { "X-Forwarded-For": `10.1.${index >> 8}.${index & 255}` } },
			reconnectMs: () => draw.between(200, 800),
			updateMs: () => draw.between(1_000, 3_000),
		});
		device.onStep = (step) => {
			if (step !== "offered") return;
			const { deviceId, isUpdating, offers } = device;
			if (isUpdating) problems.push(`${deviceId} received an update during an update`);
			const updating = devices.filter((each) => each.isUpdating).length;
			if (updating >= concurrency) problems.push(`${deviceId} is offer ${updating + 1} at a time`);
			if (offers >= maxAttempts) problems.push(`${deviceId} received it ${offers + 1} times`);
		};
		devices.push(device);
	}
	const work = devices.map((device) => device.run());
	onEnd(t, async () => {
		for (const device of devices) device.end();
		await Promise.all(work);
		assert.deepEqual(problems, []);
	});
	return devices;
}

/** @returns the remaining gateways, and a function that ends the disturbance */
async function disturb({ gateways, servers }: GatewayCluster, kind: (typeof kinds)[number], random: Random) {
	const index = random.between(0, 2);
	const [gateway, server] = [gateways[index], servers[index]];
	assert.ok(gateway && server, `no gateway or server ${index}`);
	const others = [0, 1, 2].filter((each) => each !== index);
	switch (kind) {
		case "kills a gateway":
			await gateway.kill();
			return { others, restore: () => gateway.start() };
		case "kills a server":
			await server.kill();
			return {
				others: [0, 1, 2],
				restore: async () => {
					await server.start();
					if (!isNatsOld) return server.ready();
					return server.ready(oldReplicaMs).catch(() => "replica behind" as const);
				},
			};
		case "cuts a gateway off":
			gateway.cut();
			return { others, restore: async () => gateway.heal() };
		case "stops a gateway":
			gateway.suspend();
			return { others, restore: async () => gateway.resume() };
	}
}

/** @returns milliseconds until these gateways show the actual state and the same rollout */
async function agree(
	{ gateways }: GatewayCluster,
	devices: readonly ReconnectingDevice[],
	indices: Iterable<number>,
): Promise<number> {
	const asked = [...indices].flatMap((index) => gateways[index] ?? []);
	const from = performance.now();
	const read = async () => {
		const views = await Promise.all(
			asked.map(async (gateway) => {
				const [known, rollout] = await Promise.all([
					gateway.call<{ devices: readonly Shown[] }>("GET", "devices"),
					gateway.call<{ devices: readonly Step[] }>("GET", "rollouts/autumn/devices"),
				]);
				const steps = new Map(rollout.devices.map(({ deviceId, status }) => [deviceId, status]));
				return new Map(
					known.devices.map(({ deviceId, connected, firmwareVersion }) => [
						deviceId,
						`${connected ? "connected" : "away"}, ${firmwareVersion}, ${steps.get(deviceId)}`,
					]),
				);
			}),
		);
		return devices.flatMap(({ deviceId: id, version, changedAt, isConnected }) => {
			const shown = views.map((view) => view.get(id) ?? "");
			const isSteady = performance.now() - changedAt > steadyMs && isConnected;
			const isRight = shown.every((each) => each === shown[0] && each.startsWith(`connected, ${version}, `));
			return !isSteady || isRight ? [] : [`${id} ${version}: ${shown.join("; ")}`];
		});
	};
	await eventually(read, (wrong) => wrong.length === 0, agreeMs);
	return Math.round(performance.now() - from);
}

/** Waits until each device has ended, or its offer was lost with a gateway, which ends after 5 minutes of silence. */
async function theEnd(
	cluster: GatewayCluster,
	devices: readonly ReconnectingDevice[],
): Promise<readonly Step[]> {
	const read = async () => {
		const { devices: steps } =
			(await cluster.gateways[0]?.call<{ devices: readonly Step[] }>("GET", "rollouts/autumn/devices")) ?? {};
		return steps ?? [];
	};
	const isLost = ({ deviceId, status, attempts }: Step) =>
		status === "offered" && (devices.find((device) => device.deviceId === deviceId)?.offers ?? 0) < attempts;
	const isEnded = (step: Step) =>
		["succeeded", "failed", "timed_out", "rolled_back"].includes(step.status) || isLost(step);
	let calmSince = performance.now();
	return eventually(
		read,
		(steps) => {
			if (!steps.every(isEnded)) calmSince = performance.now();
			// An offer may be in flight.
			return (
				steps.length > 0 &&
				(steps.every((step) => !isLost(step)) ? steps.every(isEnded) : performance.now() - calmSince > 15_000)
			);
		},
		// Two offers may be lost. Shorter than npm test allows a file, so that unfinished devices are reported.
		Math.max(2 * lostMs, 5_000 * devices.length),
	);
}

async function devicesOf(cluster: GatewayCluster, index: number): Promise<readonly Shown[]> {
	const answer = await cluster.gateways[index]?.call<{ devices: readonly Shown[] }>("GET", "devices");
	return answer?.devices ?? [];
}

async function rolloutOf(cluster: GatewayCluster, index: number): Promise<Rollout> {
	const rollout = await cluster.gateways[index]?.call<Rollout>("GET", "rollouts/autumn");
	assert.ok(rollout, `no gateway ${index}`);
	return rollout;
}

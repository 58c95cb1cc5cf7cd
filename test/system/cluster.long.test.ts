/**
 * Three gateways behind haproxy and their NATS servers, which are killed, cut off and stopped. CLUSTER_TIMES is the
 * number of each disturbance, and TEST_SEED their times. The round before a release takes half an hour:
 * CLUSTER_TIMES=20 node --import tsx --test test/system/cluster.long.test.ts
 */

import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Results, type SoundUpdate } from "../../device/sound/results.js";
import type { Schedule } from "../../gateway/api/schedule.js";
import { addRelease } from "../../scripts/release/folder.js";
import { onEnd, temporaryDirectory } from "../support/cleanup.js";
import { eventually, waitUntil } from "../support/eventually.js";
import { type ClusterGateway, clusterMissing, startCluster } from "../support/gateway-cluster.js";
import { makeImage } from "../support/images.js";
import { isNatsOld } from "../support/nats.js";
import { Random } from "../support/random.js";
import { ReconnectingDevice } from "../support/reconnecting-device.js";
import { seed, seedNote } from "../support/seed.js";
import type { Command } from "../support/simulated-device.js";
import { tone, wav } from "../support/sounds.js";

const times = Number(process.env.CLUSTER_TIMES ?? 1);
const kinds = [
	"kills a gateway",
	"kills a server",
	"cuts a gateway off",
	"stops a gateway",
	"cuts all off",
] as const;
const concurrency = 4;
const maxAttempts = 2;
/** Timeout to agree, which takes less than 10 s (printed); the rest is for a busy computer. */
const agreeMs = 30_000;
/** Time without changes after which a device's state is expected to be correct. */
const steadyMs = 5_000;
/** Offers lost with a gateway end after 5 minutes of silence, and may have occupied all slots. */
const lostMs = 6 * 60_000;
/** A killed replica of nats-server 2.9 may never be current again: "Catchup for stream stalled". */
const oldReplicaMs = 15_000;
/** Time for other gateways to notice and take over. */
const outageMs = [1_000, 12_000] as const;

interface Rollout {
	readonly status: string;
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

const devicesOf = async (gateway: ClusterGateway) =>
	(await gateway.call<{ devices: readonly Shown[] }>("GET", "devices")).devices;
const stepsOf = async (gateway: ClusterGateway) =>
	(await gateway.call<{ devices: readonly Step[] }>("GET", "rollouts/autumn/devices")).devices;

/** Runs devices until the test ends. */
function runAll(t: TestContext, devices: readonly ReconnectingDevice[]): void {
	const runs = devices.map((device) => device.run());
	onEnd(t, async () => {
		for (const device of devices) device.end();
		await Promise.all(runs);
	});
}

/** @returns gateways that know release 1.4.0 */
async function start(t: TestContext, servers: 1 | 3) {
	t.diagnostic(seedNote);
	const directory = await temporaryDirectory(t);
	const releasesDir = join(directory, "releases");
	const images = [makeImage({ version: "1.4.0" })];
	await addRelease(releasesDir, { version: "1.4.0", date: "2026-01-02", notes: "", images });
	const program = join(directory, "speak.sh");
	await writeFile(program, `#!/bin/sh\nread -r number\nsleep 0.1\ncat ${directory}/$number.wav\n`);
	await chmod(program, 0o755);
	const cluster = await startCluster(t, {
		gateways: 3,
		servers,
		releasesDir,
		environment: { SPEECH_COMMAND: program },
	});
	await Promise.all(cluster.gateways.map((gateway) => gateway.knows("1.4.0")));
	const [first] = cluster.gateways;
	assert.ok(first, "no gateways");
	return { ...cluster, directory, first, random: new Random(seed) };
}

test("gateways on one NATS server run a due schedule exactly once across a crash", {
	skip: clusterMissing,
}, async (t) => {
	const { gateways, directory, random } = await start(t, 1);
	await testSchedules(t, gateways, directory, random);
});

test("a rollout keeps its limits while gateways and three NATS servers are disturbed", {
	skip: clusterMissing,
}, async (t) => {
	const { url, gateways, servers, first, random } = await start(t, 3);
	const devices = Array.from({ length: 30 + 10 * times * kinds.length }, (_, index) => {
		const draw = random.fork(String(index));
		return new ReconnectingDevice({
			url,
			deviceId: `dev-1-${String(index).padStart(6, "0")}`,
			// Gateways limit clients by address.
			client: { headers: { "X-Forwarded-For": `10.1.${index >> 8}.${index & 255}` } },
			reconnectMs: () => draw.between(200, 800),
			updateMs: () => draw.between(500, 1_500),
		});
	});
	const problems: string[] = [];
	for (const device of devices)
		device.onStep = (step) => {
			if (step !== "offered") return;
			const { deviceId, isUpdating, offers } = device;
			if (isUpdating) problems.push(`${deviceId} received an update during an update`);
			const updating = devices.filter((device) => device.isUpdating).length;
			if (updating >= concurrency) problems.push(`${deviceId} is offer ${updating + 1} at a time`);
			if (offers >= maxAttempts) problems.push(`${deviceId} received it ${offers + 1} times`);
		};
	runAll(t, devices);
	const isOurs = ({ deviceId, connected }: Shown) => deviceId.startsWith("dev-1-00") && connected;
	const readDevices = () => devicesOf(first);
	await eventually(readDevices, (shown) => shown.filter(isOurs).length === devices.length);
	const errorThreshold = { percent: 100, minExecuted: 10_000 };
	const plan = {
		firmware: { version: "1.4.0" },
		target: { devices: devices.map(({ deviceId }) => deviceId) },
		groups: [{ size: "rest", concurrency, soakSeconds: 1, errorThreshold }],
		maxAttempts,
	};
	// None of the gateways may run rollouts yet.
	await eventually(() => first.call("PUT", "rollouts/autumn", plan));
	const rollout = () => first.call<Rollout>("GET", "rollouts/autumn");
	let isReplicaBehind = false;
	for (const kind of Array.from({ length: times }, () => kinds).flat()) {
		// Two of three servers must be current.
		if (kind === "kills a server" && isReplicaBehind) continue;
		const { status, counts: before } = await eventually(rollout, (rollout) => rollout.status !== "scheduled");
		assert.equal(status, "running", `over before it ${kind}`);
		await eventually(rollout, ({ counts }) => (counts.succeeded ?? 0) > (before.succeeded ?? 0), lostMs);
		await setTimeout(random.between(0, 1500));
		const index = random.between(0, 2);
		const [gateway, server] = [gateways[index], servers[index]];
		assert.ok(gateway && server, `no gateway or server ${index}`);
		const others = gateways.filter((other) => other !== gateway);
		const outage = random.between(...outageMs);
		const agreed = [0];
		if (kind === "kills a server") {
			await server.kill();
			agreed.push(await agree(devices, gateways));
			await setTimeout(outage);
			await server.start();
			await server.ready(isNatsOld ? oldReplicaMs : undefined).catch((error) => {
				if (!isNatsOld) throw error;
				isReplicaBehind = true;
			});
		} else if (kind === "cuts all off") {
			await waitUntil(() => devices.some(({ isUpdating }) => isUpdating));
			for (const other of gateways) other.cut();
			const isUpdated = ({ version }: ReconnectingDevice) => version === "1.4.0";
			const updated = devices.filter(isUpdated).length;
			const rename = () => first.call("PATCH", "devices/dev-1-000001", { name: "x" });
			const readAnswer = () => rename().then(String, String);
			await eventually(readAnswer, (answer) => answer.includes(" 503 "));
			// Started updates end.
			const countUpdated = () => devices.filter(isUpdated).length;
			await eventually(countUpdated, (now) => now > updated && !devices.some(({ isUpdating }) => isUpdating));
			await assert.rejects(rename(), / 503 /);
			for (const other of gateways) other.heal();
		} else {
			if (kind === "kills a gateway") await gateway.kill();
			else if (kind === "cuts a gateway off") gateway.cut();
			else gateway.suspend();
			agreed.push(await agree(devices, others));
			await setTimeout(outage);
			if (kind === "kills a gateway") await gateway.start();
			else if (kind === "cuts a gateway off") gateway.heal();
			else gateway.resume();
		}
		agreed.push(await agree(devices, gateways));
		t.diagnostic(`${kind}: all agree within ${Math.max(...agreed)} ms`);
	}
	const steps = await finalSteps(first, devices);
	await agree(devices, gateways);
	assert.equal(steps.length, devices.length);
	for (const { deviceId, status, attempts, reason } of steps) {
		const device = devices.find((candidate) => candidate.deviceId === deviceId);
		assert.ok(device && device.offers <= attempts, `${deviceId}: ${device?.offers} of ${attempts} offers`);
		const isLost = device.offers < attempts;
		assert.ok(status === "succeeded" || isLost, `${deviceId}: ${status}, ${reason}`);
		assert.equal(device.version === "1.4.0", status === "succeeded", `${deviceId} runs ${device.version}`);
	}
	assert.deepEqual(problems, []);
});

/** Waits until these gateways show the actual state and the same rollout. @returns milliseconds */
async function agree(
	devices: readonly ReconnectingDevice[],
	gateways: readonly ClusterGateway[],
): Promise<number> {
	const from = performance.now();
	const read = async () => {
		const views = await Promise.all(
			gateways.map(async (gateway) => {
				const [known, steps] = await Promise.all([devicesOf(gateway), stepsOf(gateway)]);
				const statuses = new Map(steps.map(({ deviceId, status }) => [deviceId, status]));
				return new Map(
					known.map(({ deviceId, connected, firmwareVersion }) => [
						deviceId,
						`${connected ? "connected" : "away"}, ${firmwareVersion}, ${statuses.get(deviceId)}`,
					]),
				);
			}),
		);
		return devices.flatMap(({ deviceId: id, version, changedAt, isConnected }) => {
			const shown = views.map((view) => view.get(id) ?? "");
			const isSteady = performance.now() - changedAt > steadyMs && isConnected;
			const isRight = shown.every((text) => text === shown[0] && text.startsWith(`connected, ${version}, `));
			return !isSteady || isRight ? [] : [`${id} ${version}: ${shown.join("; ")}`];
		});
	};
	await eventually(read, (wrong) => wrong.length === 0, agreeMs);
	return Math.round(performance.now() - from);
}

/** Waits until each device has ended, or its offer was lost with a gateway, which ends after 5 minutes of silence. */
async function finalSteps(
	gateway: ClusterGateway,
	devices: readonly ReconnectingDevice[],
): Promise<readonly Step[]> {
	const offersOf = (id: string) => devices.find(({ deviceId }) => deviceId === id)?.offers ?? 0;
	const ended = ["succeeded", "failed", "timed_out", "rolled_back"];
	let calmSince = performance.now();
	return eventually(
		() => stepsOf(gateway),
		(steps) => {
			const open = steps.filter(({ status }) => !ended.includes(status));
			const areLost = open.every(
				({ deviceId, status, attempts }) => status === "offered" && offersOf(deviceId) < attempts,
			);
			if (!areLost) calmSince = performance.now();
			// An offer may be in flight.
			return open.length === 0 || performance.now() - calmSince > 15_000;
		},
		// Two offers may be lost.
		Math.max(2 * lostMs, 5_000 * devices.length),
	);
}

/** Plays each sound immediately and remembers results as the firmware does. */
class Player extends ReconnectingDevice {
	/** Ids of the sounds heard. */
	readonly played: string[] = [];
	readonly #results = new Results({ remembered: () => "", remember: () => {}, flush: () => {} });

	protected override onCommand(command: Command): void {
		if (command.command !== "play_sound") return super.onCommand(command);
		const { id } = Object(command.value);
		const known = this.#results.find(id);
		if (!known) {
			this.played.push(id);
			this.#update({ id, state: "playing" });
		}
		this.#update(known ?? { id, state: "played" });
	}

	#update(update: SoundUpdate): void {
		this.#results.keep(update);
		this.send({ type: "sound_update", deviceId: this.deviceId, ...update });
	}
}

async function testSchedules(
	t: TestContext,
	gateways: readonly ClusterGateway[],
	directory: string,
	random: Random,
): Promise<void> {
	/** Devices by schedule, then by gateway: queued sounds are lost with their gateway. */
	const players = Array.from({ length: 6 }, (_, schedule) =>
		gateways.map(
			({ url }, gateway) =>
				new Player({
					url,
					deviceId: `dev-1-aa00${gateway}${schedule}`,
					features: ["sound", "queue"],
					reconnectMs: () => 200,
					updateMs: () => 0,
				}),
		),
	);
	for (const schedule of players.keys())
		await writeFile(join(directory, `${schedule}.wav`), wav(tone(1_600 + schedule)));
	runAll(t, players.flat());
	/** Ids of the announcements started by schedules, one for each due time. */
	const jobs: string[] = [];
	for (let round = 0; round < 2 * times; round += 1) {
		for (const gateway of gateways)
			await eventually(
				() => devicesOf(gateway),
				(shown) => {
					const ours = shown.filter(({ deviceId }) => deviceId.startsWith("dev-1-aa00"));
					return ours.filter(({ connected }) => connected).length === players.flat().length;
				},
			);
		const victim = random.of(gateways);
		const others = gateways.filter((other) => other !== victim);
		const [first] = others;
		assert.ok(first, "no other gateway");
		const made: Schedule[] = [];
		for (const [index, group] of players.entries()) {
			const what = index % 2 === 0 ? { url: "http://10.0.0.1/a.wav" } : { text: String(index) };
			const devices = group.map(({ deviceId }) => deviceId);
			const announcement = { ...what, targets: { devices }, together: false };
			made.push(await first.call("POST", "schedules", { at: { in: 2 }, do: { announcement } }));
		}
		const due = Math.min(...made.map(({ nextAt }) => Date.parse(nextAt ?? "")));
		await setTimeout(due - 200 - Date.now());
		// In the first round only the gateway that is killed can start them, then each of them.
		if (round % 2 === 0) for (const other of others) other.suspend();
		await setTimeout(due + random.between(0, 700) - Date.now());
		await victim.kill();
		for (const other of others) other.resume();
		const readSchedules = () => first.call<{ schedules: readonly Schedule[] }>("GET", "schedules");
		const ended = await eventually(readSchedules, ({ schedules }) =>
			schedules.every(({ last }) => last !== null),
		);
		for (const { id, last } of ended.schedules) {
			assert.ok(last?.outcome === "done" || last?.outcome === "late", `${JSON.stringify(last)}, ${round}`);
			const job = last.job ?? assert.fail(`${id} has no job`);
			jobs.push(job);
			const group = players[made.findIndex((announcement) => announcement.id === id)] ?? [];
			// A device of a killed gateway may be offline.
			for (const [index, { played }] of group.entries())
				if (gateways[index] !== victim) await waitUntil(() => played.includes(job));
			await first.call("DELETE", `schedules/${id}`).catch(() => {});
		}
		await victim.start();
	}
	for (const { deviceId, played } of players.flat()) {
		assert.deepEqual(played, [...new Set(played)], `${deviceId} plays a sound twice`);
		const stray = played.filter((id) => !jobs.includes(id));
		assert.deepEqual(stray, [], `${deviceId} plays a due time under two ids`);
	}
}

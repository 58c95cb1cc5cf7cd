/** Tests that gateways converge on who is connected where, after any order of events. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { Registry } from "prom-client";
import { Cluster } from "../../../gateway/cluster/cluster.js";
import type { Session } from "../../../gateway/sessions/device.js";
import type { Sessions } from "../../../gateway/sessions/sessions.js";
import { rejectMessage } from "../../../gateway/sockets/monitor-commands.js";
import type { Subscription } from "../../../gateway/sockets/monitor-sockets.js";
import { createMetrics } from "../../../gateway/telemetry/metrics.js";
import { sampleReport } from "../../../scripts/api/sample-report.js";
import { type MemoryBus, MemoryServer } from "../../support/memory-bus.js";
import { runs } from "../../support/property-runs.js";
import { makeSessions, silentLink } from "../../support/record-stubs.js";

const ids = ["dev-1-000001", "dev-1-000002", "dev-1-000003"];
const beatMs = 2_000;

/** Gateway without sockets. */
class Node {
	readonly bus: MemoryBus;
	readonly sessions: Sessions;
	readonly cluster: Cluster;
	/** Connections of identified and unidentified devices. */
	readonly lines: {
		readonly deviceId: string;
		readonly session: Session;
		readonly line: { isUp: boolean };
	}[] = [];
	readonly #open: ReturnType<typeof makeSessions>["open"];
	/** Latest connection state sent to monitors, by session id. */
	readonly shown = new Map<string, boolean>();
	readonly problems: unknown[] = [];
	/** Uplinks received from devices of other gateways. */
	heard = 0;
	/** Devices whose reports a monitor needs; undefined: all. */
	readonly monitor: Subscription = { devices: new Set<string>(), summary: undefined };

	constructor(server: MemoryServer, time: () => number) {
		const clock = { now: () => 0, monotonic: time };
		this.bus = server.connect();
		const { events, sessions, open } = makeSessions(clock);
		this.sessions = sessions;
		this.#open = open;
		events.on({
			sessionChanged: (session, reason) => {
				const isEnd = reason === "disconnected" || reason === "replaced";
				if (isEnd && this.shown.get(session.sessionId) === false) this.problems.push(`${reason} twice`);
				this.shown.set(session.sessionId, session.connected);
			},
			uplinkRelayed: () => {
				this.heard += 1;
			},
		});
		const core = {
			...clock,
			events,
			sessions: this.sessions,
			peers: { id: randomUUID() },
			name: () => "one",
			firmware: { catalog: { read: async () => ({ schema: 1, latest: null, releases: [] }) as const } },
			monitors: { subscriptions: () => [this.monitor], broadcast: () => {} },
			execute: async () => rejectMessage("unknown_target", "none"),
			metrics: createMetrics(new Registry()),
			log: { info: () => {}, warn: () => {}, error: (problem: unknown) => void this.problems.push(problem) },
			limits: { gatewayBeatMs: beatMs },
		};
		this.cluster = new Cluster(core, this.bus);
		for (const listeners of this.cluster.listeners) events.on(listeners);
	}

	connect(deviceId: string, isNamed: boolean): void {
		const line = { isUp: true };
		const close = () => {
			line.isUp = false;
		};
		const named = isNamed ? deviceId : undefined;
		const link = { ...silentLink, close, isOpen: () => line.isUp };
		const session = this.#open(deviceId, { deviceId: named }, link);
		this.lines.push({ deviceId, session, line });
	}

	report(deviceId: string, uptime = 60): void {
		const sample = sampleReport("DEV-1");
		const report = { ...sample, deviceId, health: { ...sample.health, uptime_seconds: uptime } };
		for (const { session, line } of this.open(deviceId))
			if (line.isUp) this.sessions.receive(session, report, Buffer.from(JSON.stringify(report)));
	}

	/** Disconnects a device, noticed by this gateway. */
	disconnect(deviceId: string): void {
		for (const { session, line } of this.open(deviceId)) {
			line.isUp = false;
			this.sessions.end(session, "disconnected");
		}
	}

	/** Uptime in the kept report of a device. */
	uptime(deviceId: string): unknown {
		const { state } = this.sessions.devices.get(deviceId) ?? {};
		return state?.text === undefined ? undefined : JSON.parse(state.text).health.uptime_seconds;
	}

	open(deviceId: string) {
		return this.lines.filter((connection) => connection.deviceId === deviceId && connection.line.isUp);
	}

	/** Connected sessions of identified devices, by device. */
	connected(): readonly (string | undefined)[] {
		return [...this.sessions.list()]
			.filter((session) => session.connected && session.device)
			.map(({ device, sessionId }) => `${device?.deviceId} ${sessionId}`)
			.sort();
	}
}

class World {
	readonly nodes: Node[] = [];
	readonly server = new MemoryServer();
	readonly #mock: TestContext["mock"];
	#time = 0;

	constructor(mock: TestContext["mock"]) {
		this.#mock = mock;
	}

	/** Number of the next gateway. */
	add(): Node {
		const node = new Node(this.server, () => this.#time);
		this.nodes.push(node);
		void node.cluster.open();
		return node;
	}

	/** Suspends the gateway for a time. */
	standStill(beats: number): void {
		this.#time += beats * beatMs;
		this.#mock.timers.tick(beatMs);
	}

	async pass(beats: number): Promise<void> {
		for (let step = 0; step < beats * 8; step += 1) {
			this.#time += beatMs / 8;
			this.#mock.timers.tick(beatMs / 8);
			await this.turns(4);
		}
	}

	async turns(count: number): Promise<void> {
		for (let step = 0; step < count; step += 1) await turn();
	}

	/** Kills the gateway as `kill -9` does; its devices notice. */
	kill(node: Node): void {
		node.bus.cut();
		for (const { line } of node.lines) line.isUp = false;
		this.nodes.splice(this.nodes.indexOf(node), 1);
	}

	/** Sends the pending uplinks of a session, and ends the rest. */
	close(): void {
		for (const { cluster } of this.nodes) void cluster.close();
	}

	at(index: number): Node {
		const node = this.nodes[index % this.nodes.length];
		assert.ok(node, "the world has no nodes");
		return node;
	}

	assertAgreement(): void {
		const truth = this.nodes
			.flatMap(({ lines }) => lines)
			.filter(({ line, session }) => line.isUp && session.device)
			.map(({ session }) => `${session.device?.deviceId} ${session.sessionId}`)
			.sort();
		for (const node of this.nodes) {
			assert.deepEqual(node.connected(), truth);
			for (const { sessionId, connected } of node.sessions.list())
				assert.equal(node.shown.get(sessionId), connected, "state sent to monitors");
			assert.deepEqual(node.problems, []);
		}
		const sessions = new Set(truth.map((entry) => entry.split(" ")[0])).size;
		assert.equal(sessions, truth.length, "several sessions of a device");
	}
}

const gateway = fc.nat(2);
const device = fc.nat(ids.length - 1);
const step = fc.record({
	do: fc.oneof(
		{ weight: 6, arbitrary: fc.constantFrom("connect", "move", "disconnect", "report") },
		{ weight: 6, arbitrary: fc.constantFrom("cut", "heal", "turns", "turns", "beats", "beats") },
		{ weight: 2, arbitrary: fc.constantFrom("nameless", "kill") },
	),
	gateway,
	device,
});

const disputed = [
	{ do: "connect", gateway: 0, device: 2 },
	{ do: "cut", gateway: 1, device: 0 },
	{ do: "kill", gateway: 0, device: 1 },
	{ do: "connect", gateway: 0, device: 2 },
	{ do: "beats", gateway: 0, device: 0 },
];

test("shows each connected device once at all gateways after any connects, moves, cuts and kills", async (t) => {
	t.mock.timers.enable({ apis: ["setInterval", "setTimeout"] });
	await fc.assert(
		fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
			const world = new World(t.mock);
			for (let index = 0; index < 3; index += 1) world.add();
			await world.pass(1);
			for (const step of steps) {
				const node = world.at(step.gateway);
				const id = ids[step.device] ?? "";
				if (step.do === "connect") node.connect(id, true);
				else if (step.do === "nameless") node.connect(id, false);
				else if (step.do === "report") node.report(id);
				else if (step.do === "disconnect") node.disconnect(id);
				else if (step.do === "cut") node.bus.cut();
				else if (step.do === "heal") node.bus.heal();
				else if (step.do === "turns") await world.turns(step.device + 1);
				else if (step.do === "beats") await world.pass(2 * step.device + 1);
				else if (step.do === "move") {
					for (const other of world.nodes) other.disconnect(id);
					node.connect(id, true);
				} else {
					world.kill(node);
					world.add();
				}
			}
			for (const node of world.nodes) node.bus.heal();
			await world.pass(8);
			world.assertAgreement();
			const [id = ""] = ids;
			const newest = world.at(steps.length);
			newest.connect(id, true);
			await world.turns(20);
			world.assertAgreement();
			assert.deepEqual(
				world.nodes.map((node) => node.open(id).filter(({ session }) => session.device).length),
				world.nodes.map((node) => (node === newest ? 1 : 0)),
			);
			world.close();
		}),
		// Both a disconnected and a killed gateway had the device; the winner is random.
		{ numRuns: runs(200), examples: Array.from({ length: 10 }, () => [disputed]) },
	);
});

/** Two gateways, the first one with a device. */
async function runTwo(t: TestContext) {
	t.mock.timers.enable({ apis: ["setInterval", "setTimeout"] });
	const world = new World(t.mock);
	const [a, b] = [world.add(), world.add()];
	await world.pass(1);
	const [id = ""] = ids;
	a.connect(id, true);
	a.report(id);
	await world.pass(1);
	return { world, a, b, id };
}

test("keeps reports of another gateway's device only while a monitor needs them", async (t) => {
	const { world, a, b, id } = await runTwo(t);
	const kept = () => b.sessions.devices.get(id)?.state.text;
	assert.equal(kept(), undefined);
	b.monitor.devices = undefined;
	await b.cluster.gather();
	assert.equal(kept(), a.sessions.devices.get(id)?.state.text);
	assert.notEqual(kept(), undefined);
	b.monitor.devices = new Set();
	await world.pass(1);
	assert.equal(kept(), undefined);
	world.close();
});

test("relays pending uplinks before a list of their sessions", async (t) => {
	const { world, a, b, id } = await runTwo(t);
	b.monitor.devices = undefined;
	b.cluster.onInterest();
	await world.turns(4);
	for (let count = 0; count < 3; count += 1) a.report(id);
	await world.turns(4);
	assert.equal(b.heard, 1);
	await b.cluster.gather();
	assert.equal(b.heard, 3);
	world.close();
});

test("considers no gateway lost after a suspension, and ignores invalid messages", async (t) => {
	t.mock.timers.enable({ apis: ["setInterval", "setTimeout"] });
	const world = new World(t.mock);
	const [a, b] = [world.add(), world.add()];
	await world.pass(1);
	for (const text of ["{]", "[]"]) a.bus.publish("gw.hb.x", text);
	await world.turns(4);
	world.standStill(10);
	for (const { cluster } of [a, b]) assert.equal(JSON.parse(cluster.channels.cluster().join()).gateways, 2);
	a.connect("dev-1-000001", true);
	await world.turns(4);
	assert.equal(b.connected().length, 1);
	assert.equal(b.problems.length, 2);
	world.close();
});

test("rewrites an entry lost by the servers with the next change", async (t) => {
	const { world, a, b, id } = await runTwo(t);
	const entries = world.server.buckets.get("gw-directory")?.entries;
	const entry = entries?.get(id);
	assert.ok(entry && entry.revision > 1, `the entry has revision ${entry?.revision}`);
	entries?.set(id, { ...entry, revision: entry.revision - 1 });
	a.disconnect(id);
	await world.pass(1);
	assert.deepEqual(b.connected(), []);
	world.close();
});

for (const [who, cut, beats] of [
	["its gateway", "a", 5],
	["the monitor's gateway", "b", 5],
	["the monitor's gateway", "b", 1],
] as const)
	for (const [needed, devices] of [
		["all devices", undefined],
		["this device", new Set([ids[0] ?? ""])],
	] as const)
		test(`shows a monitor of ${needed} the latest report after ${who} was cut off for ${beats} heartbeats`, async (t) => {
			const { world, id, ...gateways } = await runTwo(t);
			const { a, b } = gateways;
			b.monitor.devices = devices;
			await b.cluster.gather(devices && [...devices]);
			assert.equal(b.uptime(id), 60);
			gateways[cut].bus.cut();
			await world.turns(4);
			a.report(id, 120);
			await world.pass(beats);
			gateways[cut].bus.heal();
			await world.pass(1);
			assert.equal(b.uptime(id), 120);
			world.close();
		});

test("collects missed reports at the next request", async (t) => {
	const { world, a, b, id } = await runTwo(t);
	b.monitor.devices = undefined;
	a.bus.cut();
	const gathered = b.cluster.gather();
	await world.pass(2);
	await gathered;
	assert.equal(b.uptime(id), undefined);
	a.bus.heal();
	await world.turns(4);
	await b.cluster.gather();
	assert.equal(b.uptime(id), 60);
	world.close();
});

test("omits a device forgotten without a bus from the directory", async (t) => {
	const { world, a, b, id } = await runTwo(t);
	a.disconnect(id);
	await world.pass(1);
	a.bus.cut();
	await world.turns(4);
	const device = a.sessions.devices.get(id);
	assert.ok(device && a.sessions.forget(device), "not forgotten");
	await world.pass(2);
	a.bus.heal();
	await world.pass(2);
	assert.equal(world.server.buckets.get("gw-directory")?.entries.has(id), false);
	const later = world.add();
	await world.pass(1);
	for (const { sessions } of [a, later]) assert.equal(sessions.devices.has(id), false);
	assert.deepEqual(b.connected(), []);
	world.close();
});

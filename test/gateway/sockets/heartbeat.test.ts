import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { type TestContext, test } from "node:test";
import { WebSocket } from "ws";
import { type Peer, type PeerActivity, startHeartbeat } from "../../../gateway/sockets/heartbeat.js";

const intervalMs = 15_000;
/** Monotonic clock, in ms. */
let now = 0;

/** Socket that records pings and pongs, and answers pings immediately or never. */
class Device extends EventEmitter implements Peer {
	readonly OPEN = WebSocket.OPEN;
	readonly readyState = WebSocket.OPEN;
	readonly isPaused = false;
	readonly pings: number[] = [];
	readonly pongs: number[] = [];
	isAnswering = true;
	terminatedAt: number | undefined;

	ping(): void {
		this.pings.push(now);
		if (this.isAnswering) this.emit("pong");
	}

	pong(): void {
		this.pongs.push(now);
	}

	terminate(): void {
		this.terminatedAt = now;
		this.emit("close");
	}
}

/** Starts heartbeats on a clock that the test advances. */
function start(t: TestContext, ...watched: readonly (readonly [Device, PeerActivity])[]) {
	now = 0;
	t.mock.timers.enable({ apis: ["setTimeout"] });
	for (const [device, activity] of watched) startHeartbeat(device, activity, intervalMs, 2);
	return (ms: number) => {
		for (const end = now + ms; now < end; ) {
			now += 5;
			t.mock.timers.tick(5);
		}
	};
}

const gaps = ({ pings }: Device) => pings.map((time, index) => time - (pings[index - 1] ?? 0));

test("pings each peer of a fleet at different times, and drops it when a third ping is due", (t) => {
	const peers = Array.from({ length: 100 }, () => new Device());
	// Every tenth peer answers no ping.
	for (const [index, peer] of peers.entries()) peer.isAnswering = index % 10 !== 0;
	const pass = start(t, ...peers.map((peer) => [peer, {}] as const));
	pass(4 * intervalMs);
	for (const peer of peers) {
		const { isAnswering, pings, terminatedAt } = peer;
		assert.ok(isAnswering ? pings.length >= 4 : pings.length === 2, `${pings.length} pings`);
		assert.equal(terminatedAt === undefined, isAnswering);
		for (const gap of gaps(peer)) assert.ok(gap >= 0.9 * intervalMs && gap <= intervalMs + 5, `${gap} ms`);
	}
	const first = peers.map(({ pings }) => pings[0]);
	assert.ok(new Set(first).size > 50, `${new Set(first).size} different times`);
});

test("sends pongs instead of pings while a peer reports, and drops it like others once silent", (t) => {
	const device = new Device();
	device.isAnswering = false;
	const session = { lastSeenAt: 0 };
	const pass = start(t, [device, session]);
	for (let reports = 1; reports <= 12; reports++) {
		pass(intervalMs / 3);
		session.lastSeenAt = now;
	}
	assert.deepEqual([device.pongs.length, device.pings.length], [4, 0]);
	pass(4 * intervalMs);
	assert.notEqual(device.pings.length, 0);
	assert.notEqual(device.terminatedAt, undefined);
});

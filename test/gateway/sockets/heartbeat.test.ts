import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { type TestContext, test } from "node:test";
import { WebSocket } from "ws";
import { type Peer, startHeartbeat } from "../../../gateway/sockets/heartbeat.js";

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

/** Starts a heartbeat on a clock that the test advances. */
function start(t: TestContext) {
	now = 0;
	t.mock.timers.enable({ apis: ["setInterval"] });
	const heartbeat = startHeartbeat(intervalMs, 2, () => now);
	t.after(() => heartbeat.close());
	const pass = (ms: number) => {
		for (const end = now + ms; now < end; ) {
			now += 5;
			t.mock.timers.tick(5);
		}
	};
	/** Every tenth peer answers no ping. */
	const watch = (count: number) => {
		const peers = Array.from({ length: count }, () => new Device());
		for (const [index, peer] of peers.entries()) {
			peer.isAnswering = index % 10 !== 0;
			heartbeat.watch(peer, {});
		}
		return peers;
	};
	return { heartbeat, pass, watch };
}

const gaps = ({ pings }: Device) => pings.slice(1).map((time, index) => time - (pings[index] ?? 0));

test("pings each peer of a fleet once per interval, one by one, and drops it when a third ping is due", (t) => {
	const { pass, watch } = start(t);
	const peers = watch(600);
	pass(4 * intervalMs);
	for (const peer of peers) {
		const { isAnswering, pings, terminatedAt } = peer;
		assert.deepEqual(gaps(peer), Array(isAnswering ? 3 : 1).fill(intervalMs));
		assert.equal(terminatedAt, isAnswering ? undefined : (pings[1] ?? 0) + intervalMs);
	}
	const times = peers.flatMap(({ pings }) => pings);
	assert.equal(new Set(times).size, times.length, "no two at the same moment");
});

test("lets a peer leave pings unanswered while a snapshot is sent, and no longer", (t) => {
	const { heartbeat, pass } = start(t);
	const activity = { isLoading: true };
	const device = new Device();
	device.isAnswering = false;
	heartbeat.watch(device, activity);
	pass(10 * intervalMs);
	assert.ok(device.pings.length >= 9, `${device.pings.length} pings`);
	activity.isLoading = false;
	pass(4 * intervalMs);
	assert.ok((device.terminatedAt ?? 0) > 11 * intervalMs, `terminated at ${device.terminatedAt} ms`);
});

test("pings once after a pause of any length, then within 20 s with 5 s to respond", (t) => {
	const { pass, watch } = start(t);
	const peers = watch(600);
	pass(1.5 * intervalMs);
	now += 10 * intervalMs;
	pass(2 * intervalMs);
	for (const peer of peers) {
		assert.equal(peer.terminatedAt === undefined, peer.isAnswering);
		if (!peer.isAnswering) continue;
		const late = peer.pings.filter((time) => time > 11 * intervalMs);
		assert.equal(new Set(late).size, late.length);
		assert.equal(late[0], 11.5 * intervalMs + 25);
		assert.ok(Math.min(...gaps(peer)) >= 5000, `pings at ${peer.pings}`);
		assert.ok((late[1] ?? 0) - (late[0] ?? 0) <= 20_000, `pings at ${late} ms`);
	}
});

test("sends pongs instead of pings while a peer reports, and drops it like others once silent", (t) => {
	const { heartbeat, pass } = start(t);
	const device = new Device();
	device.isAnswering = false;
	const session = { lastSeenAt: 0 };
	heartbeat.watch(device, session);
	for (let reports = 1; reports <= 12; reports++) {
		pass(intervalMs / 3);
		session.lastSeenAt = now;
	}
	pass(4 * intervalMs);
	// Its slot is 25 ms after the start of each interval.
	const beats = [1, 2, 3, 4, 5].map((interval) => interval * intervalMs + 25);
	assert.deepEqual([device.pongs, device.pings], [beats.slice(0, 4), [25, beats[4]]]);
	assert.equal(device.terminatedAt, 6 * intervalMs + 25);
});

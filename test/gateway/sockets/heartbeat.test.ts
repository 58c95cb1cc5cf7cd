import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { describe, mock, test } from "node:test";
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

describe("fleet", () => {
	/** @param run advances the clock */
	const watch = (count: number, run: () => void) => {
		now = 0;
		mock.timers.enable({ apis: ["setInterval"] });
		try {
			const heartbeat = startHeartbeat(intervalMs, 2, () => now);
			const peers = Array.from({ length: count }, () => new Device());
			for (const [index, peer] of peers.entries()) {
				peer.isAnswering = index % 10 !== 0;
				heartbeat.watch(peer, {});
			}
			run();
			heartbeat.close();
			return peers;
		} finally {
			mock.timers.reset();
		}
	};
	/** @param slowness duration of a timer callback in ms */
	const pass = (ms: number, slowness = 1) => {
		for (const end = now + ms; now < end; ) {
			now += 5 * slowness;
			mock.timers.tick(5);
		}
	};
	const watchFor = (count: number, intervals: number) => watch(count, () => pass(intervals * intervalMs));
	const gaps = ({ pings }: Device) => pings.slice(1).map((time, index) => time - (pings[index] ?? 0));

	test("may leave pings unanswered while a snapshot is sent, and no longer", () => {
		let isLoading = true;
		let lived = 0;
		const device = new Device();
		device.isAnswering = false;
		watch(0, () => {
			const heartbeat = startHeartbeat(intervalMs, 2, () => now);
			heartbeat.watch(device, {
				get isLoading() {
					return isLoading;
				},
			});
			pass(10 * intervalMs);
			lived = device.pings.length;
			isLoading = false;
			pass(4 * intervalMs);
			heartbeat.close();
		});
		assert.ok(lived >= 9, `${lived} pings`);
		assert.ok((device.terminatedAt ?? 0) > 11 * intervalMs, `terminated at ${device.terminatedAt} ms`);
	});

	test("is pinged one by one, each device once per interval", () => {
		const peers = watchFor(600, 3).filter(({ isAnswering }) => isAnswering);
		const times = peers.flatMap(({ pings }) => pings);
		assert.equal(times.length, peers.length * 3);
		assert.equal(new Set(times).size, times.length, "no two at the same moment");
		for (const { pings } of peers)
			assert.deepEqual(
				pings.filter((time, index) => index > 0 && time - (pings[index - 1] ?? 0) !== intervalMs),
				[],
			);
	});

	test("is pinged once after a pause of any length, then within 20 s with 5 s to respond", () => {
		const peers = watch(600, () => {
			pass(1.5 * intervalMs);
			now += 10 * intervalMs;
			pass(2 * intervalMs);
		});
		for (const peer of peers.filter(({ isAnswering }) => isAnswering)) {
			assert.equal(peer.terminatedAt, undefined);
			const late = peer.pings.filter((time) => time > 11 * intervalMs);
			assert.equal(new Set(late).size, late.length);
			assert.equal(late[0], 11.5 * intervalMs + 25);
			assert.deepEqual(
				gaps(peer).filter((ms) => ms < 5000),
				[],
			);
			assert.ok((late[1] ?? 0) - (late[0] ?? 0) <= 20_000, `pings at ${late} ms`);
		}
		for (const { terminatedAt } of peers.filter(({ isAnswering }) => !isAnswering))
			assert.notEqual(terminatedAt, undefined);
	});

	test("drops a device after two unanswered pings, when the third is due", () => {
		const peers = watchFor(600, 4);
		for (const { isAnswering, pings, terminatedAt } of peers) {
			assert.equal(pings.length, isAnswering ? 4 : 2);
			assert.equal(terminatedAt, isAnswering ? undefined : (pings[1] ?? 0) + intervalMs);
		}
	});

	test("gets pongs instead of pings while it reports, and times out like others once silent", () => {
		const device = new Device();
		device.isAnswering = false;
		const session = { lastSeenAt: 0 };
		watch(0, () => {
			const heartbeat = startHeartbeat(intervalMs, 2, () => now);
			heartbeat.watch(device, session);
			for (let reports = 1; reports <= 12; reports++) {
				pass(intervalMs / 3);
				session.lastSeenAt = now;
			}
			pass(4 * intervalMs);
			heartbeat.close();
		});
		// Its slot is 25 ms after the start of each interval.
		const beats = [1, 2, 3, 4, 5].map((interval) => interval * intervalMs + 25);
		assert.deepEqual([device.pongs, device.pings], [beats.slice(0, 4), [25, beats[4]]]);
		assert.equal(device.terminatedAt, 6 * intervalMs + 25);
	});
});

import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { describe, mock, test } from "node:test";
import { WebSocket } from "ws";
import { type Peer, startHeartbeat } from "../../../gateway/sockets/heartbeat.js";

const intervalMs = 15_000;

/** A socket that records pings, and answers immediately or never. */
class Device extends EventEmitter implements Peer {
	readonly OPEN = WebSocket.OPEN;
	readonly readyState = WebSocket.OPEN;
	readonly isPaused = false;
	readonly pings: number[] = [];
	isAnswering = true;
	terminatedAt: number | undefined;

	ping(): void {
		this.pings.push(Date.now());
		if (this.isAnswering) this.emit("pong");
	}

	terminate(): void {
		this.terminatedAt = Date.now();
		this.emit("close");
	}
}

describe("a fleet", () => {
	const watchFor = (count: number, intervals: number) => {
		mock.timers.enable({ apis: ["setInterval", "Date"] });
		try {
			const heartbeat = startHeartbeat(intervalMs, 2);
			const peers = Array.from({ length: count }, () => new Device());
			for (const [index, peer] of peers.entries()) {
				peer.isAnswering = index % 10 !== 0;
				heartbeat.watch(peer);
			}
			for (let ms = 0; ms < intervals * intervalMs; ms += 5) mock.timers.tick(5);
			heartbeat.close();
			return peers;
		} finally {
			mock.timers.reset();
		}
	};

	test("is pinged one by one, each device once an interval", () => {
		const peers = watchFor(600, 3).filter(({ isAnswering }) => isAnswering);
		const times = peers.flatMap(({ pings }) => pings);
		assert.equal(times.length, peers.length * 3);
		assert.equal(new Set(times).size, times.length, "no two at the same moment");
		for (const { pings } of peers)
			assert.ok(pings.every((time, index) => index === 0 || time - (pings[index - 1] ?? 0) === intervalMs));
	});

	test("larger than the number of ticks is spread evenly", () => {
		const asked = new Map<number, number>();
		for (const { pings, isAnswering } of watchFor(6000, 1))
			for (const time of pings) if (isAnswering) asked.set(time, (asked.get(time) ?? 0) + 1);
		assert.equal(Math.max(...asked.values()), 10);
	});

	test("loses a device that leaves two pings unanswered, when the third falls due", () => {
		const peers = watchFor(600, 4);
		for (const { isAnswering, pings, terminatedAt } of peers) {
			assert.equal(pings.length, isAnswering ? 4 : 2);
			assert.equal(terminatedAt, isAnswering ? undefined : (pings[1] ?? 0) + intervalMs);
		}
	});
});

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { Duplex } from "node:stream";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { WebSocket, WebSocketServer } from "ws";
import { createCore } from "../../../gateway/core.js";
import type { MonitorSockets } from "../../../gateway/sockets/monitor-sockets.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { onEnd } from "../../support/cleanup.js";
import { nextEvent } from "../../support/eventually.js";
import { listen } from "../../support/ports.js";
import { makeHandshake, silentLink } from "../../support/record-stubs.js";

// A burst is 8 writes in one turn: one per frame and monitor.
for (const [monitorCount, burst] of [
	[1, 8],
	[2, 4],
] as const)
	test(`sends a frame at once, and the frames of a burst in one write (monitors: ${monitorCount})`, async (t) => {
		// Longer than the test takes, so that only the mocked timer ends it.
		const frameBatchMs = 60_000;
		const { core } = createCore({ log: createLog("silent"), limits: { frameBatchMs } }, () => 0);
		const session = core.sessions.open(makeHandshake("dev-1-a1b2c3"), silentLink);
		const streams: WriteSizes[] = [];
		for (let index = 0; index < monitorCount; index++) streams.push(await connectMonitor(t, core.monitors));
		t.mock.timers.enable({ apis: ["setTimeout"] });
		const relay = async (count: number) => {
			for (let index = 0; index < count; index++) core.monitors.relay(session, Buffer.from("{}"), true);
			await setImmediate();
		};

		await relay(1);
		const frameBytes = streams[0]?.[0] ?? 0;
		const assertFrames = (expected: readonly number[], message: string) => {
			for (const writes of streams)
				assert.deepEqual(
					writes.map((bytes) => bytes / frameBytes),
					expected,
					message,
				);
		};
		assertFrames([1], "at once after a pause");
		await relay(burst - 1);
		await relay(burst);
		assertFrames([1, burst - 1, burst], "together in one turn");
		await relay(1);
		await relay(2);
		assertFrames([1, burst - 1, burst], "later in a burst");
		t.mock.timers.tick(frameBatchMs);
		assertFrames([1, burst - 1, burst, 3], "together in a burst");
		await relay(1);
		assertFrames([1, burst - 1, burst, 3, 1], "at once after the burst");
	});

/** Number of bytes in each write. */
type WriteSizes = number[];

/** Connects a monitor whose connection only records its writes after the snapshot. */
async function connectMonitor(t: TestContext, monitors: MonitorSockets): Promise<WriteSizes> {
	const server = createServer();
	const client = new WebSocket(`ws://127.0.0.1:${await listen(t, server)}`);
	client.on("error", () => {});
	onEnd(t, () => client.terminate());
	const [request, _connection, head] = await nextEvent(server, "upgrade");
	const writes: WriteSizes = [];
	const stream = new Duplex({
		read() {},
		write: (bytes, _encoding, done) => {
			writes.push(bytes.length);
			done();
		},
		writev: (parts, done) => {
			writes.push(parts.reduce((sum, { chunk }) => sum + chunk.length, 0));
			done();
		},
	});
	const reader = { remoteAddress: "127.0.0.1", findPerson: async () => undefined };
	new WebSocketServer({ noServer: true }).handleUpgrade(request, stream, head, (socket) => {
		monitors.accept(socket, stream, reader, new Set());
	});
	await setImmediate();
	writes.length = 0;
	return writes;
}

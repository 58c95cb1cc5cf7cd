import assert from "node:assert/strict";
import { createServer } from "node:http";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { WebSocket, WebSocketServer } from "ws";
import { createCore } from "../../../gateway/core.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { onEnd } from "../../support/cleanup.js";
import { nextEvent } from "../../support/eventually.js";
import { listen } from "../../support/ports.js";
import { makeHandshake, silentLink } from "../../support/record-stubs.js";

test("sends a frame at once, and the frames of a burst in one write", async (t) => {
	// Longer than the test takes, so that only the mocked timer ends it.
	const frameBatchMs = 60_000;
	const { core } = createCore({ log: createLog("silent"), limits: { frameBatchMs } }, () => 0);
	const session = core.sessions.open(makeHandshake("dev-1-a1b2c3"), silentLink);
	const server = createServer();
	const client = new WebSocket(`ws://127.0.0.1:${await listen(t, server)}`);
	client.on("error", () => {});
	onEnd(t, () => client.terminate());
	const [request, _connection, head] = await nextEvent(server, "upgrade");
	/** Size of each write. */
	const writes: number[] = [];
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
		core.monitors.accept(socket, stream, reader, new Set());
	});
	await setImmediate();
	writes.length = 0;
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const relay = (count: number) => {
		for (let index = 0; index < count; index++) core.monitors.relay(session, Buffer.from("{}"), true);
	};

	relay(1);
	await setImmediate();
	const [frameBytes = 0] = writes;
	const framesOf = () => writes.map((bytes) => bytes / frameBytes);
	assert.deepEqual(framesOf(), [1], "at once after a pause");
	relay(4);
	await setImmediate();
	assert.deepEqual(framesOf(), [1, 4], "together in one turn");
	relay(1);
	await setImmediate();
	relay(2);
	await setImmediate();
	assert.deepEqual(framesOf(), [1, 4], "later in a burst");
	t.mock.timers.tick(frameBatchMs);
	assert.deepEqual(framesOf(), [1, 4, 3], "together in a burst");
	relay(1);
	await setImmediate();
	assert.deepEqual(framesOf(), [1, 4, 3, 1], "at once after the burst");
});

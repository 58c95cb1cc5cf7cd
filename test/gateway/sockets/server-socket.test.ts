/** Peers that keep sending after a close frame. Without a limit they are read until the close timeout, which outlasts these tests. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { Socket } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { WebSocketServer } from "ws";
import { ServerSocket } from "../../../gateway/sockets/server-socket.js";
import { onEnd } from "../../support/cleanup.js";
import { nextEvent } from "../../support/eventually.js";
import { freePort } from "../../support/ports.js";
import { deviceToken, monitorToken, openByHand, runGateway } from "../../support/running.js";

const limits = { closeTimeoutMs: 600_000, deviceCloseTimeoutMs: 600_000 };
const timeout = 60_000;
/** Frame masked with zeros. */
const frames = {
	binary: "8281000000007b",
	text: "8182000000007b7d",
	pong: "8a8000000000",
	notUtf8: "818100000000ff",
	tooLong: "81ff00000000000100010000000000",
	reserved: "f18000000000",
	close: "88820000000003e8",
};
const bytesOf = (name: keyof typeof frames) => Buffer.from(frames[name], "hex");

/** Sends the frames every millisecond until the socket is closed. */
async function keepSending(t: TestContext, socket: Socket, bytes: Buffer): Promise<void> {
	const timer = setInterval(() => socket.write(bytes), 1);
	onEnd(t, async () => clearInterval(timer));
	await new Promise((resolve) => socket.on("close", resolve));
}

describe("disconnects a peer that keeps sending", { concurrency: true }, () => {
	for (const [path, token] of Object.entries({ "/device": deviceToken, "/monitor": monitorToken }))
		test(`${path}: after a close frame of its own or the gateway`, { timeout }, async (t) => {
			const gateway = await runGateway(t, { limits });
			const port = Number(new URL(gateway.url).port);
			const starts = ["binary", "notUtf8", "tooLong", "reserved", "close"] as const;
			const sockets = starts.map(async (start) => {
				const socket = await openByHand(t, port, path, token);
				socket.write(bytesOf(start));
				await keepSending(t, socket, bytesOf("text"));
			});
			const flooding = await openByHand(t, port, path, token);
			const pongs = Buffer.concat(Array<Buffer>(1000).fill(bytesOf("pong")));
			await Promise.all([...sockets, keepSending(t, flooding, pongs)]);
			const last = await openByHand(t, port, path, token);
			const closed = keepSending(t, last, bytesOf("text"));
			await gateway.gateway.close();
			await closed;
		});
});

test("stops reading a flood after the close frame", { timeout }, async (t) => {
	const server = createServer();
	const sockets = new WebSocketServer({ noServer: true, WebSocket: ServerSocket });
	let pongs = 0;
	const closed = new Promise((resolve) => {
		server.on("upgrade", (request, stream, head) =>
			sockets.handleUpgrade(request, stream, head, (socket) => {
				socket.stream = stream;
				socket.on("pong", () => {
					pongs += 1;
					socket.close(1008);
				});
				socket.on("close", resolve);
			}),
		);
	});
	const port = await freePort();
	await nextEvent(server.listen(port, "127.0.0.1"), "listening");
	onEnd(t, async () => void server.close());
	const socket = await openByHand(t, port, "/", "");
	socket.write(Buffer.concat(Array<Buffer>(1_000_000).fill(bytesOf("pong"))));
	await closed;
	// Two reads of 64 KiB and the stream's buffer are processed after the pause.
	assert.ok(pongs < 50_000, `${pongs} pongs were read`);
});

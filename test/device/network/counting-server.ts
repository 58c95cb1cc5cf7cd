/** Server in place of a gateway that ends or ignores connections. */

import { createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { onEnd } from "../../support/cleanup.js";
import { listen } from "../../support/ports.js";

/** Starts a TCP server that counts its connections and passes each to the test. */
export async function runCountingServer(t: TestContext, onConnection: (socket: Socket) => void) {
	const sockets: Socket[] = [];
	const server = createServer((socket) => {
		sockets.push(socket);
		socket.on("error", () => {});
		onConnection(socket);
	});
	const port = await listen(t, server);
	onEnd(t, () => {
		for (const socket of sockets) socket.destroy();
	});
	return { url: `ws://127.0.0.1:${port}/device`, connections: () => sockets.length };
}

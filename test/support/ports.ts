/** Ports of 127.0.0.1. */

import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { type Owner, onEnd } from "./cleanup.js";
import { nextEvent } from "./eventually.js";

/**
 * Below the ephemeral ports for outgoing connections and port 0 (from 32768 on Linux, from 49152 by RFC 6335), so
 * that none of these occupies the port of a restarted server; without 10080, which `fetch` rejects.
 */
const [first, end] = [11_000, 32_000];
/** // Other test files run at the same time. */
const portsOfProcess = 32;
let next = first + ((process.pid * portsOfProcess) % (end - first));

/** @returns a different unused port at each call */
export async function freePort(): Promise<number> {
	for (;;) {
		const port = next;
		next = port + 1 < end ? port + 1 : first;
		if (await canListen(port)) return port;
	}
}

async function canListen(port: number): Promise<boolean> {
	const server = createServer();
	try {
		await nextEvent(server.listen(port, "127.0.0.1"), "listening");
		return true;
	} catch {
		return false;
	} finally {
		server.close();
	}
}

export async function isListening(port: number): Promise<boolean> {
	const socket = connect(port, "127.0.0.1");
	try {
		await nextEvent(socket, "connect");
		return true;
	} catch {
		return false;
	} finally {
		socket.destroy();
	}
}

/** Listens on a free port of 127.0.0.1 until the test ends, then also closes HTTP connections. @returns the port */
export async function listen(t: Owner, server: Server & { closeAllConnections?(): void }): Promise<number> {
	await nextEvent(server.listen(0, "127.0.0.1"), "listening");
	onEnd(t, () => {
		server.closeAllConnections?.();
		server.close();
	});
	return portOf(server);
}

/** @returns the server's TCP port */
export function portOf(server: { address(): AddressInfo | string | null }): number {
	const address = server.address();
	if (typeof address !== "object" || !address) throw new Error("The server does not listen on a TCP port.");
	return address.port;
}

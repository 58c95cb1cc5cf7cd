/** TCP proxy on 127.0.0.1 that can be cut: its connections end, and it rejects new ones until it is healed. */

import { connect, createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { onEnd } from "./cleanup.js";
import { listen } from "./ports.js";

export interface TcpProxy {
	readonly port: number;
	cut(): void;
	heal(): void;
}

/** @param onSent receives the bytes that clients send */
export async function startProxy(
	t: TestContext,
	to: number,
	onSent?: (bytes: Buffer) => void,
): Promise<TcpProxy> {
	const sockets = new Set<Socket>();
	let isCut = false;
	const cut = () => {
		isCut = true;
		for (const socket of sockets) socket.destroy();
	};
	const server = createServer((near) => {
		if (isCut) {
			near.destroy();
			return;
		}
		const far = connect(to, "127.0.0.1");
		if (onSent) near.on("data", onSent);
		for (const [socket, other] of [
			[near, far],
			[far, near],
		] as const) {
			sockets.add(socket);
			socket.setNoDelay(true).pipe(other);
			socket.on("error", () => {});
			socket.on("close", () => {
				sockets.delete(socket);
				other.destroy();
			});
		}
	});
	const port = await listen(t, server);
	onEnd(t, cut);
	return {
		port,
		cut,
		heal: () => {
			isCut = false;
		},
	};
}

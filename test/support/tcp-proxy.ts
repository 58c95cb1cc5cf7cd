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

/** @param pass forwards data in both directions */
export async function startProxy(t: TestContext, to: number, pass = pipeBoth): Promise<TcpProxy> {
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
		for (const [socket, other] of [
			[near, far],
			[far, near],
		] as const) {
			sockets.add(socket);
			socket.setNoDelay(true);
			socket.on("error", () => {});
			socket.on("close", () => {
				sockets.delete(socket);
				other.destroy();
			});
		}
		pass(near, far);
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

function pipeBoth(near: Socket, far: Socket): void {
	near.pipe(far).pipe(near);
}

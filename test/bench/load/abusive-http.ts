/**
 * Abusive HTTP clients without a token, in one process. Each continues until `stop`, and reconnects when
 * disconnected.
 */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { serve } from "../child.js";
import type { Target } from "./connect.js";

interface Clients {
	readonly target: Target;
	readonly connections: number;
}

/** Throughput of a gigabit link to the gateway, for all connections together. */
const bytesPerMs = 125_000;
const bodyChunk = Buffer.alloc(64 * 1024, "x");
/** Endless requests: with a length that is never reached, and chunked. */
const endless = ["/ota/upload", "/login", "/nowhere"].flatMap((path) => [
	Buffer.from(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\n`),
	Buffer.from(`POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`),
]);
const chunkedBody = Buffer.concat([
	Buffer.from(`${bodyChunk.length.toString(16)}\r\n`),
	bodyChunk,
	Buffer.from("\r\n"),
]);

let isStopped = true;
let running: Promise<unknown> = Promise.resolve();

const handlers = {
	/** Sends successive requests without reading the responses. */
	unread: async ({ target, connections }: Clients) => {
		const page = await (await fetch(new URL("/", httpOf(target)))).text();
		const [, script = ""] = /src="(.+?)"/.exec(page) ?? [];
		const requests = ["/healthz", "/", new URL(script, httpOf(target)).pathname].map((path) =>
			requestsFor("GET", path),
		);
		begin(connections, target, (socket, index) => {
			socket.pause();
			return { first: Buffer.alloc(0), again: requests[index % requests.length] ?? bodyChunk };
		});
	},

	/** Sends endless bodies. */
	bodies: ({ target, connections }: Clients) =>
		begin(connections, target, (socket, index) => {
			socket.resume();
			const first = endless[index % endless.length] ?? bodyChunk;
			return { first, again: index % 2 === 0 ? bodyChunk : chunkedBody };
		}),

	/** Sends wrong login codes and reads the responses. */
	loginCodes: ({ target, connections }: Clients) =>
		begin(connections, target, (socket) => {
			socket.resume();
			return { first: Buffer.alloc(0), again: requestsFor("POST", "/login?code=wrong") };
		}),

	/** @returns the numbers of bytes sent and of connections */
	stop: async () => {
		isStopped = true;
		await running;
		return { sentBytes, opened };
	},
};

let [sentBytes, opened] = [0, 0];

/** @param onSocket returns the first data of a new connection, and the repeated data */
function begin(
	connections: number,
	target: Target,
	onSocket: (socket: Socket, index: number) => { readonly first: Buffer; readonly again: Buffer },
): void {
	isStopped = false;
	[sentBytes, opened] = [0, 0];
	const beganAt = performance.now();
	const client = async (index: number) => {
		while (!isStopped) {
			const { hostname, port } = httpOf(target);
			const socket = connect(Number(port), hostname);
			const closed = new Promise((resolve) => socket.once("close", resolve));
			socket.on("error", () => {});
			await Promise.race([once(socket, "connect").catch(() => {}), closed]);
			opened += 1;
			const { first, again } = onSocket(socket, index);
			socket.write(first);
			while (!isStopped && !socket.destroyed) {
				const mayHaveSent = (performance.now() - beganAt) * bytesPerMs;
				if (!socket.writableNeedDrain && sentBytes < mayHaveSent) {
					socket.write(again);
					sentBytes += again.length;
				}
				// A client that does not read notices the end of its connection at its next write.
				await Promise.race([closed, setTimeout(2)]);
			}
			socket.destroy();
			if (!isStopped) await setTimeout(10);
		}
	};
	running = Promise.all(Array.from({ length: connections }, (_, index) => client(index)));
}

/** Maximum number of requests that fit into one read. */
function requestsFor(method: string, path: string): Buffer {
	const request = `${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`;
	return Buffer.from(request.repeat(Math.floor(bodyChunk.length / request.length)));
}

function httpOf({ url }: Target): URL {
	return new URL(url.replace("ws", "http"));
}

export type AbusiveHttp = typeof handlers;
serve(handlers);

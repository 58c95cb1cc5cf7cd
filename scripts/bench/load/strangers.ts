/** Clients that have no token and misuse HTTP, as one process; each goes on until `stop`, and comes back when it is cut off. */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { serve } from "../child.js";
import type { Target } from "./connect.js";

interface Strangers {
	readonly target: Target;
	readonly connections: number;
}

/** What a gigabit link brings to the gateway, for all connections together. */
const bytesPerMs = 125_000;
const bodyChunk = Buffer.alloc(64 * 1024, "x");
/** Requests without end: with a length that is never reached, and in chunks. */
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
	/** Requests one after the other, whose answers are not read. */
	unread: async ({ target, connections }: Strangers) => {
		const page = await (await fetch(new URL("/", httpOf(target)))).text();
		const [, script = ""] = /src="(.+?)"/.exec(page) ?? [];
		const requests = ["/healthz", "/", new URL(script, httpOf(target)).pathname].map(requestsFor);
		begin(connections, target, (socket, index) => {
			socket.pause();
			return { first: Buffer.alloc(0), again: requests[index % requests.length] ?? bodyChunk };
		});
	},

	/** Bodies without end. */
	bodies: ({ target, connections }: Strangers) =>
		begin(connections, target, (socket, index) => {
			socket.resume();
			const first = endless[index % endless.length] ?? bodyChunk;
			return { first, again: index % 2 === 0 ? bodyChunk : chunkedBody };
		}),

	/** Wrong login codes, whose answers are read. */
	loginCodes: ({ target, connections }: Strangers) =>
		begin(connections, target, (socket) => {
			socket.resume();
			return { first: Buffer.alloc(0), again: requestsFor("/login?code=wrong") };
		}),

	/** @returns how many bytes were sent, and on how many connections */
	stop: async () => {
		isStopped = true;
		await running;
		return { sentBytes, opened };
	},
};

let [sentBytes, opened] = [0, 0];

/** @param onSocket says what a new connection sends: something first, and something again and again */
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
				// A client that does not read learns that it was cut off by the next thing that it sends.
				await Promise.race([closed, setTimeout(2)]);
			}
			socket.destroy();
			if (!isStopped) await setTimeout(10);
		}
	};
	running = Promise.all(Array.from({ length: connections }, (_, index) => client(index)));
}

/** As many requests as one read may hold. */
function requestsFor(path: string): Buffer {
	const request = `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
	return Buffer.from(request.repeat(Math.floor(bodyChunk.length / request.length)));
}

function httpOf({ url }: Target): URL {
	return new URL(url.replace("ws", "http"));
}

export type StrangersLoad = typeof handlers;
serve(handlers);

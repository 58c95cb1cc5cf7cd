/**
 * Abusive clients in one process, each until `stop`, and devices with a valid token that try to connect meanwhile.
 * Clients reconnect when disconnected.
 */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { WebSocket } from "ws";
import { serve } from "../child.js";
import { open, type Target } from "./connect.js";

interface Abuse {
	readonly target: Target;
	/** Number of connections, or of connections a second. */
	readonly count: number;
}

/** Throughput of a gigabit link to the gateway, for all connections together. */
const bytesPerMs = 125_000;
const bodyChunk = Buffer.alloc(64 * 1024, "x");
/** Endless requests: with a length that is never reached, and chunked. */
const endless = ["/ota/upload", "/login", "/nowhere"].flatMap((path) => [
	Buffer.from(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\n`),
	Buffer.from(`POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`),
]);
const size = Buffer.from(`${bodyChunk.length.toString(16)}\r\n`);
const chunkedBody = Buffer.concat([size, bodyChunk, Buffer.from("\r\n")]);
/** Invalid JSON, JSON that is no message, and a message for an unknown target. */
const garbage = [
	"}{",
	"[1,2,3]",
	'{"type":"boot_device","targetId":"unknown"}',
	`{"type":"${"x".repeat(200)}"}`,
];
/** Limit of unsent bytes per socket. */
const aheadBytes = 1 << 20;
/** Timeout of a device without a response. */
const patienceMs = 10_000;

let isStopped = true;
let running: Promise<unknown> = Promise.resolve();
let visits: Promise<boolean>[] = [];

function begin(count: number, work: (index: number) => Promise<void>): void {
	isStopped = false;
	running = Promise.all(
		Array.from({ length: count }, async (_, index) => {
			while (!isStopped) {
				await work(index);
				await setTimeout(10);
			}
		}),
	);
}

const handlers = {
	/** Sends successive HTTP requests without reading the responses. */
	unreadResponses: async ({ target, count }: Abuse) => {
		const page = await (await fetch(new URL("/", httpOf(target)))).text();
		const [, script = ""] = /src="(.+?)"/.exec(page) ?? [];
		const requests = ["/healthz", "/", new URL(script, httpOf(target)).pathname].map((path) =>
			requestsFor("GET", path),
		);
		sendHttp({ target, count }, (socket, index) => {
			socket.pause();
			return requests[index % requests.length] ?? bodyChunk;
		});
	},

	/** Sends endless bodies. */
	bodies: (abuse: Abuse) =>
		sendHttp(abuse, (socket, index) => {
			socket.resume().write(endless[index % endless.length] ?? bodyChunk);
			return index % 2 === 0 ? bodyChunk : chunkedBody;
		}),

	/** Sends wrong login codes and reads the responses. */
	loginCodes: (abuse: Abuse) =>
		sendHttp(abuse, (socket) => {
			socket.resume();
			return requestsFor("POST", "/login?code=wrong");
		}),

	/** Monitors that never read. */
	unread: ({ target, count }: Abuse) =>
		begin(count, async () => {
			const socket = await open(target);
			if (!(socket instanceof WebSocket)) return;
			socket.pause();
			while (!isStopped) await setTimeout(10);
			socket.terminate();
		}),

	/** Devices that send pong frames and garbage at full speed. */
	pongs: ({ target, count }: Abuse) =>
		begin(count, async () => {
			const socket = await open(target);
			if (!(socket instanceof WebSocket)) return;
			for (let turn = 0; !isStopped && socket.readyState === WebSocket.OPEN; await setTimeout(1))
				for (let left = 100; left > 0 && socket.bufferedAmount < aheadBytes; left--, turn++)
					if (turn % 2 === 0) socket.pong();
					else socket.send(garbage[turn % garbage.length] ?? "");
			socket.terminate();
		}),

	/** Devices with an invalid token. */
	wrongTokens: ({ target, count }: Abuse) =>
		begin(1, async () => {
			const began = performance.now();
			for (let tries = 0; !isStopped; await setTimeout(1))
				for (; tries < ((performance.now() - began) / 1000) * count; tries++)
					void open({ ...target, token: "a-token-that-is-not-the-right-one" });
		}),

	/** Devices with a valid token that connect and disconnect one after another; each tries once. */
	newcomers: ({ target, count }: Abuse) => {
		visits = [];
		begin(1, async () => {
			visits.push(visit(target));
			await setTimeout(1000 / count);
		});
	},

	/** @returns number of rejected newcomers */
	stop: async () => {
		isStopped = true;
		await running;
		const letIn = await Promise.all(visits);
		return { rejected: letIn.filter((isLetIn) => !isLetIn).length };
	},
};

async function visit(target: Target): Promise<boolean> {
	const outcome = await Promise.race([open(target), setTimeout(patienceMs, undefined, { ref: false })]);
	if (!(outcome instanceof WebSocket)) return false;
	outcome.terminate();
	return true;
}

/** @param onSocket receives a new connection @returns the repeated data */
function sendHttp({ target, count }: Abuse, onSocket: (socket: Socket, index: number) => Buffer): void {
	const beganAt = performance.now();
	let sentBytes = 0;
	begin(count, async (index) => {
		const { hostname, port } = httpOf(target);
		const socket = connect(Number(port), hostname);
		const closed = new Promise((resolve) => socket.once("close", resolve));
		socket.on("error", () => {});
		await Promise.race([once(socket, "connect").catch(() => {}), closed]);
		const data = onSocket(socket, index);
		while (!isStopped && !socket.destroyed) {
			if (!socket.writableNeedDrain && sentBytes < (performance.now() - beganAt) * bytesPerMs) {
				socket.write(data);
				sentBytes += data.length;
			}
			// A client that does not read notices the end of its connection at its next write.
			await Promise.race([closed, setTimeout(2)]);
		}
		socket.destroy();
	});
}

/** Maximum number of requests that fit into one read. */
function requestsFor(method: string, path: string): Buffer {
	const request = `${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`;
	return Buffer.from(request.repeat(Math.floor(bodyChunk.length / request.length)));
}

function httpOf({ url }: Target): URL {
	return new URL(url.replace("ws", "http"));
}

export type AbuseHandlers = typeof handlers;
serve(handlers);

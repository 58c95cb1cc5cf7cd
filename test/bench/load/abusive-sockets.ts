/** Abusive WebSocket clients with a valid or an invalid token, in one process. Each continues until `stop`. */

import { setTimeout } from "node:timers/promises";
import { WebSocket } from "ws";
import { serve } from "../child.js";
import type { Target } from "./connect.js";

/** Invalid JSON, JSON that is no message, and a message for an unknown target. */
const garbage = [
	"}{",
	"[1,2,3]",
	'{"type":"boot_device","targetId":"unknown"}',
	`{"type":"${"x".repeat(200)}"}`,
];
const longestLog = JSON.stringify({
	type: "log",
	deviceId: "dev-1-ffffff",
	seq: 1,
	dropped: 0,
	lines: `${"x".repeat(1999)}\n`,
});
/** Limit of unsent bytes per socket. */
const aheadBytes = 1 << 20;

let isStopped = true;
let running: Promise<unknown> = Promise.resolve();
let tries = 0;

const handlers = {
	/** Monitor that never reads. */
	unread: async ({ target }: { target: Target }) => {
		const socket = await open(target);
		socket?.pause();
		begin(async () => {
			while (!isStopped) await setTimeout(10);
			socket?.terminate();
		});
	},

	/**
	 * Devices that send pong frames at full speed, with garbage between them on request; they reconnect when
	 * disconnected.
	 */
	pongs: ({ target, count, withGarbage }: { target: Target; count: number; withGarbage: boolean }) =>
		begin(async () => {
			const pong = (socket: WebSocket) => socket.pong();
			const both = (socket: WebSocket, turn: number) =>
				turn % 2 === 0 ? socket.pong() : socket.send(garbage[turn % garbage.length] ?? "");
			const send = withGarbage ? both : pong;
			const clients = Array.from({ length: count }, (_, index) => flood(target, send, `dev-1-fffff${index}`));
			await Promise.all(clients);
		}),

	/** Device that sends its live log at full speed in the longest messages. */
	logs: ({ target }: { target: Target }) =>
		begin(() => flood(target, (socket) => socket.send(longestLog), "dev-1-ffffff")),

	/** Devices with an invalid token. */
	wrongTokens: ({ target, perSecond }: { target: Target; perSecond: number }) =>
		begin(async () => {
			const began = performance.now();
			for (let count = 0; !isStopped; await setTimeout(1))
				for (; count < ((performance.now() - began) / 1000) * perSecond; count++, tries++)
					void open({ ...target, token: "a-token-that-is-not-the-right-one" });
		}),

	/** @returns the number of attempts */
	stop: async () => {
		isStopped = true;
		await running;
		return { tries };
	},
};

function begin(work: () => Promise<void>): void {
	isStopped = false;
	tries = 0;
	running = work();
}

async function flood(
	target: Target,
	send: (socket: WebSocket, turn: number) => void,
	deviceId: string,
): Promise<void> {
	while (!isStopped) {
		const socket = await open(target, deviceId);
		while (!isStopped && socket?.readyState === WebSocket.OPEN) {
			for (let count = 0; count < 100 && socket.bufferedAmount < aheadBytes; count++, tries++)
				send(socket, tries);
			await setTimeout(1);
		}
		socket?.terminate();
		if (!isStopped) await setTimeout(10);
	}
}

async function open({ url, token }: Target, deviceId = "dev-1-ffffff"): Promise<WebSocket | undefined> {
	const socket = new WebSocket(url, {
		perMessageDeflate: false,
		headers: { Authorization: `Bearer ${token}`, "Device-Id": deviceId },
	});
	return new Promise((resolve) => {
		socket.once("open", () => resolve(socket));
		socket.on("error", () => resolve(undefined));
	});
}

export type AbusiveSockets = typeof handlers;
serve(handlers);

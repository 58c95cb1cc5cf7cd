/** Fleet of devices in one process that connects and sends reports at an even pace, one device after another. */

import { setTimeout } from "node:timers/promises";
import type { WebSocket } from "ws";
import { serve } from "../child.js";
import { connectAll, type Target } from "./connect.js";
import { reportHead, stamped } from "./reports.js";

const tickMs = 1;
let sockets: WebSocket[] = [];
let heads: string[] = [];
let turn = 0;

function sendNext(): boolean {
	const index = turn++ % sockets.length;
	const socket = sockets[index];
	if (socket?.readyState !== socket?.OPEN) return false;
	socket?.send(stamped(heads[index] ?? ""));
	return true;
}

const handlers = {
	connect: async ({ target, count, first = 0 }: { target: Target; count: number; first?: number }) => {
		heads = Array.from({ length: count }, (_, index) => reportHead(first + index));
		sockets = await connectAll(target, count, () => {});
	},

	/** Sends one report of each device, after which the server knows them all. */
	introduce: ({ perSecond }: { perSecond: number }) => {
		turn = 0;
		return send({ count: sockets.length, perSecond });
	},

	send,

	disconnect: () => {
		for (const socket of sockets) socket.terminate();
	},
};

/** @returns number of reports sent; a closed socket sends nothing */
async function send({ count, perSecond }: { count: number; perSecond: number }) {
	const began = performance.now();
	let [sent, tried] = [0, 0];
	while (tried < count) {
		const due = Math.min(count, Math.floor(((performance.now() - began) / 1000) * perSecond) + 1);
		for (; tried < due; tried++) if (sendNext()) sent += 1;
		if (tried < count) await setTimeout(tickMs);
	}
	return { sent };
}

export type Devices = typeof handlers;
serve(handlers);

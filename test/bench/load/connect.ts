/** Connects many sockets to one server, a few at a time, and follows Retry-After. */

import { setTimeout } from "node:timers/promises";
import { type ClientOptions, WebSocket } from "ws";

const atOnce = 64;
const tries = 100;

export interface Target {
	/** For example `ws://127.0.0.1:8080/device`. */
	readonly url: string;
	readonly token: string;
}

/** @param onSocket receives each socket before it opens, so that no frame is missed */
export async function connectAll(
	target: Target,
	count: number,
	onSocket: (socket: WebSocket, index: number) => void,
): Promise<WebSocket[]> {
	const sockets: WebSocket[] = [];
	let next = 0;
	const work = async () => {
		for (;;) {
			const index = next++;
			if (index >= count) return;
			sockets[index] = await connect(target, (socket) => onSocket(socket, index));
		}
	};
	await Promise.all(Array.from({ length: atOnce }, work));
	return sockets;
}

async function connect(target: Target, onSocket: (socket: WebSocket) => void): Promise<WebSocket> {
	for (let attempt = 1; ; attempt++) {
		const outcome = await open(target, onSocket);
		if (outcome instanceof WebSocket) return outcome;
		if (attempt === tries) throw new Error(`${target.url} rejects: ${outcome.why}`);
		// Retry-After with jitter.
		await setTimeout(outcome.waitMs * (1 + Math.random() / 2));
	}
}

/** @returns the open socket, or the server's retry delay in ms and its reason */
function open({ url, token }: Target, onSocket: (socket: WebSocket) => void) {
	const options: ClientOptions = {
		perMessageDeflate: false,
		skipUTF8Validation: true,
		...(token && { headers: { Authorization: `Bearer ${token}` } }),
	};
	const socket = new WebSocket(url, options);
	onSocket(socket);
	return new Promise<WebSocket | { waitMs: number; why: string }>((resolve) => {
		socket.once("open", () => resolve(socket));
		socket.on("error", (error) => resolve({ waitMs: 200, why: error.message }));
		socket.once("unexpected-response", (request, response) => {
			const seconds = Number(response.headers["retry-after"]) || 0.2;
			resolve({ waitMs: seconds * 1000, why: `${response.statusCode}` });
			request.destroy();
		});
	});
}

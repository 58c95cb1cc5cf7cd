/**
 * A crowd comes and goes in one moment: a proxy that restarts drops a thousand connections, and all are back at once. What
 * each asks for is done one a turn of the event loop, so that the reports of all others pass between.
 */

import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";

/** Bytes of one connection that are parsed in one turn: about 700 frames without content. */
const pieceBytes = 4096;

/**
 * @param plan has a function called later: by default in the next turn of the event loop
 * @returns what is to be awaited before each piece of work: its turn, first come, first served
 */
export function createTurns(plan: (begin: () => void) => unknown = setImmediate): () => Promise<void> {
	const waiting: (() => void)[] = [];
	const begin = () => {
		waiting.shift()?.();
		if (waiting.length > 0) plan(begin);
	};
	return () =>
		new Promise((proceed) => {
			if (waiting.push(proceed) === 1) plan(begin);
		});
}

/**
 * Has the end of a stream heard in a turn of its own: Node tells of every connection that a crowd drops in one go, and
 * what `ws` then does takes most of the time.
 */
export function delayEnd(stream: Duplex, turn: () => Promise<void>): void {
	const listeners = stream.listeners("end");
	stream.removeAllListeners("end");
	stream.on("end", async () => {
		await turn();
		if (!stream.destroyed) for (const listener of listeners) Reflect.apply(listener, stream, []);
	});
}

/**
 * Has a WebSocket parse what its stream has received in pieces, each in a turn of its own: one read may hold 10,000
 * frames. After a goodbye what is left is not parsed; `ws` would do that when the connection is closed.
 */
export function readInPieces(
	stream: Duplex,
	socket: Pick<WebSocket, "isPaused" | "readyState" | "OPEN">,
	turn: () => Promise<void>,
): void {
	const listeners = stream.listeners("data");
	stream.removeAllListeners("data");
	stream.on("data", async (bytes: Buffer) => {
		const isLong = bytes.length > pieceBytes;
		if (isLong) stream.pause().unshift(bytes.subarray(pieceBytes));
		for (const listener of listeners) Reflect.apply(listener, stream, [bytes.subarray(0, pieceBytes)]);
		if (!isLong) return;
		await turn();
		if (!socket.isPaused) stream.resume();
	});
	stream.prependListener("close", () => {
		if (socket.readyState !== socket.OPEN) stream.read();
	});
}

/**
 * Spreads work over turns of the event loop. A proxy that restarts drops a thousand connections, which all come back
 * at once; the reports of other devices are handled in between.
 */

import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";

/** Parsed in one turn for one connection: about 700 empty frames. */
const pieceBytes = 4096;

/**
 * @param plan schedules a function; default: the next turn of the event loop
 * @returns a function whose promises resolve in order, one per turn
 */
export function createYield(plan: (begin: () => void) => unknown = setImmediate): () => Promise<void> {
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
 * Handles the end of a stream in a turn of its own: Node reports all dropped connections at once, and `ws` needs
 * time for each.
 */
export function delayEnd(stream: Duplex, yieldToLoop: () => Promise<void>): void {
	const listeners = stream.listeners("end");
	stream.removeAllListeners("end");
	stream.on("end", async () => {
		await yieldToLoop();
		if (!stream.destroyed) for (const listener of listeners) Reflect.apply(listener, stream, []);
	});
}

/**
 * Makes a WebSocket parse received bytes in pieces, one per turn: one read may hold 10,000 frames. What is left
 * after our close frame is not parsed; `ws` would do that at the end of the connection.
 */
export function readInPieces(
	stream: Duplex,
	socket: Pick<WebSocket, "isPaused" | "readyState" | "OPEN">,
	yieldToLoop: () => Promise<void>,
): void {
	const listeners = stream.listeners("data");
	stream.removeAllListeners("data");
	stream.on("data", async (bytes: Buffer) => {
		const isLong = bytes.length > pieceBytes;
		if (isLong) stream.pause().unshift(bytes.subarray(pieceBytes));
		for (const listener of listeners) Reflect.apply(listener, stream, [bytes.subarray(0, pieceBytes)]);
		if (!isLong) return;
		await yieldToLoop();
		if (!socket.isPaused) stream.resume();
	});
	stream.prependListener("close", () => {
		if (socket.readyState !== socket.OPEN) stream.read();
	});
}

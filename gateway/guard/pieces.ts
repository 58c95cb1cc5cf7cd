/** Divides the work of one connection, so that other devices' reports are handled in between. */

import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";

/** About 700 empty frames. */
const pieceBytes = 4096;

/** Handles the ends of streams in separate turns. */
export function delayEnd(stream: Duplex, yieldToLoop: () => Promise<void>): void {
	const listeners = stream.listeners("end");
	stream.removeAllListeners("end");
	stream.on("end", async () => {
		await yieldToLoop();
		if (!stream.destroyed) callAll(listeners, stream);
	});
}

function callAll(
	listeners: ReturnType<Duplex["listeners"]>,
	stream: Duplex,
	...values: readonly Buffer[]
): void {
	for (const listener of listeners) Reflect.apply(listener, stream, values);
}

/**
 * Makes a WebSocket parse one piece per turn: one read may hold 10,000 frames. After our close frame the rest is
 * dropped, which `ws` would parse.
 */
export function readInPieces(
	stream: Duplex,
	socket: Pick<WebSocket, "isPaused" | "readyState" | "OPEN">,
	yieldToLoop: () => Promise<void>,
): void {
	const listeners = stream.listeners("data");
	stream.removeAllListeners("data");
	stream.on("data", (bytes: Buffer) => {
		if (bytes.length <= pieceBytes) return callAll(listeners, stream, bytes);
		stream.pause().unshift(bytes.subarray(pieceBytes));
		callAll(listeners, stream, bytes.subarray(0, pieceBytes));
		void yieldToLoop().then(() => {
			if (!socket.isPaused) stream.resume();
		});
	});
	stream.prependListener("close", () => {
		if (socket.readyState !== socket.OPEN) stream.read();
	});
}

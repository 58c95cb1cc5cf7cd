/**
 * WebSocket that terminates a peer that keeps sending after the close frame. `ws` continues to read until the closing
 * handshake completes or times out, and Node reads up to 32 times 64 KiB from one socket in a turn of the event loop:
 * 350,000 pongs, which block it for 100 ms.
 */

import type { Duplex } from "node:stream";
import { WebSocket } from "ws";

/** Time for the peer to read the close frame. Destroying the socket at once would reset the connection. */
const lingerMs = 500;
/** Frames read before the peer's close frame is given up: those in flight or delayed by the rate limit. */
const maxClosingFrames = 1000;

export class ServerSocket extends WebSocket {
	/** Underlying connection, set right after the upgrade. */
	stream: Duplex | undefined;

	/** Closes the socket. `ws` also calls it, after an invalid frame or the peer's close frame. */
	override close(code?: number, reason?: string | Buffer): void {
		const isFirst = this.readyState === WebSocket.OPEN;
		super.close(code, reason);
		if (isFirst && this.stream) this.#terminateIfSending(this.stream);
	}

	#terminateIfSending(stream: Duplex): void {
		// Called after the close frame, which `ws` has written already.
		const flushed = new Promise<unknown>((resolve) => stream.write("", resolve));
		const sending = new Promise<unknown>((resolve) => {
			let frames = 0;
			const onFrame = () => {
				frames += 1;
				if (frames === maxClosingFrames) this.pause();
				resolve(undefined);
			};
			// Bytes being parsed may still contain frames; after an invalid frame `ws` emits no more of them.
			this.on("message", onFrame).on("ping", onFrame).on("pong", onFrame);
			stream.once("data", resolve);
		});
		void Promise.all([flushed, sending]).then(() => setTimeout(() => this.terminate(), lingerMs).unref());
	}
}

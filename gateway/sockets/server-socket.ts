/**
 * A WebSocket that cuts off a peer that keeps sending after a close frame. `ws` reads on until the closing handshake
 * completes or times out, and Node reads up to 32 times 64 KiB from one socket in a turn of the event loop: 350,000
 * pongs, which block it for 100 ms.
 */

import type { Duplex } from "node:stream";
import { WebSocket } from "ws";

/** Time for such a peer to read the close frame: to destroy the socket at once would reset the connection. */
const lingerMs = 500;
/** Frames that are read for the peer's close frame: those in flight, or held back by the rate limit. */
const closingFrames = 1000;

export class ServerSocket extends WebSocket {
	/** The connection under the socket, set right after the upgrade. */
	stream: Duplex | undefined;

	/** `ws` itself calls it too, after an invalid frame or the peer's close frame. */
	override close(code?: number, reason?: string | Buffer): void {
		const isFirst = this.readyState === WebSocket.OPEN;
		super.close(code, reason);
		if (isFirst && this.stream) this.#limitClosing(this.stream);
	}

	#limitClosing(stream: Duplex): void {
		// `ws` has written the close frame before.
		const flushed = new Promise<unknown>((resolve) => stream.write("", resolve));
		const sending = new Promise<unknown>((resolve) => {
			let frames = 0;
			const onFrame = () => {
				frames += 1;
				if (frames === closingFrames) this.pause();
				resolve(undefined);
			};
			// The bytes that are being read may contain frames already; after an invalid frame, only bytes follow.
			this.on("message", onFrame).on("ping", onFrame).on("pong", onFrame);
			stream.once("data", resolve);
		});
		void Promise.all([flushed, sending]).then(() => setTimeout(() => this.terminate(), lingerMs).unref());
	}
}

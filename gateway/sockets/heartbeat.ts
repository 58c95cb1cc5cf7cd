/**
 * Asks every socket regularly whether its peer is still there. A device that loses power or Wi-Fi closes nothing: TCP
 * would show it as connected for hours.
 */

import type { WebSocket } from "ws";

export interface HeartbeatOptions {
	readonly intervalMs: number;
	/** Pings that may go unanswered before the socket is destroyed. */
	readonly unanswered: number;
}

export class Heartbeat {
	readonly #unanswered = new Map<WebSocket, number>();
	readonly #timer: NodeJS.Timeout;

	constructor(options: HeartbeatOptions) {
		this.#timer = setInterval(() => this.#beat(options.unanswered), options.intervalMs);
		this.#timer.unref();
	}

	/** Watches a socket until it is closed. */
	watch(socket: WebSocket): void {
		this.#unanswered.set(socket, 0);
		socket.on("pong", () => this.#unanswered.set(socket, 0));
		socket.on("close", () => this.#unanswered.delete(socket));
	}

	close(): void {
		clearInterval(this.#timer);
	}

	#beat(allowed: number): void {
		for (const [socket, unanswered] of this.#unanswered) {
			// While we do not read it, its answers wait with all else; but it wants to hear from us.
			if (socket.isPaused) socket.ping();
			else if (unanswered >= allowed) socket.terminate();
			else if (socket.readyState === socket.OPEN) {
				this.#unanswered.set(socket, unanswered + 1);
				socket.ping();
			}
		}
	}
}

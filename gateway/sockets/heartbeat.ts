/**
 * Asks every socket regularly whether its peer is still there. A device that loses power or Wi-Fi closes nothing: TCP
 * would show it as connected for hours.
 */

import type { WebSocket } from "ws";

/** What it needs of a socket. */
export interface Peer extends Pick<WebSocket, "OPEN" | "readyState" | "isPaused"> {
	ping(): void;
	terminate(): void;
	on(event: "pong" | "close", listener: () => void): unknown;
}

export interface HeartbeatOptions {
	/** Between two pings of one socket. */
	readonly intervalMs: number;
	/** Pings that may go unanswered before the socket is destroyed. */
	readonly unanswered: number;
}

/** Each socket has its own moment of the interval: were all asked at once, all would answer at once, and reports would wait. */
const momentMs = 25;

export class Heartbeat {
	/** Of each moment: who is asked then, and how many pings each has not answered. */
	readonly #moments: readonly Map<Peer, number>[];
	readonly #allowed: number;
	readonly #timer: NodeJS.Timeout;
	#beats = 0;
	#joined = 0;

	constructor({ intervalMs, unanswered }: HeartbeatOptions) {
		const count = Math.max(1, Math.floor(intervalMs / momentMs));
		this.#moments = Array.from({ length: count }, () => new Map());
		this.#allowed = unanswered;
		this.#timer = setInterval(() => this.#beat(), intervalMs / count);
		this.#timer.unref();
	}

	/** Watches a socket until it is closed. */
	watch(socket: Peer): void {
		const moment = this.#moments[this.#joined++ % this.#moments.length];
		moment?.set(socket, 0);
		socket.on("pong", () => moment?.set(socket, 0));
		socket.on("close", () => moment?.delete(socket));
	}

	close(): void {
		clearInterval(this.#timer);
	}

	#beat(): void {
		const moment = this.#moments[this.#beats++ % this.#moments.length];
		for (const [socket, unanswered] of moment ?? []) {
			// While we do not read it, its answers wait with all else; but it wants to hear from us.
			if (socket.isPaused) socket.ping();
			else if (unanswered >= this.#allowed) socket.terminate();
			else if (socket.readyState === socket.OPEN) {
				moment?.set(socket, unanswered + 1);
				socket.ping();
			}
		}
	}
}

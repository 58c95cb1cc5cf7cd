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

/** Each socket has its own moment of the interval: were all asked at once, all would answer at once, and reports would wait. */
const momentMs = 25;

export type Heartbeat = ReturnType<typeof startHeartbeat>;

/**
 * @param intervalMs between two pings of one socket
 * @param allowed pings that may go unanswered before the socket is destroyed
 */
export function startHeartbeat(intervalMs: number, allowed: number) {
	const count = Math.max(1, Math.floor(intervalMs / momentMs));
	/** Of each moment: who is asked then, and how many pings each has not answered. */
	const moments = Array.from({ length: count }, () => new Map<Peer, number>());
	let joined = 0;
	let beats = 0;
	const timer = setInterval(() => {
		const moment = moments[beats++ % count];
		if (moment) ask(moment, allowed);
	}, intervalMs / count).unref();
	return {
		/** Watches a socket until it is closed. */
		watch(socket: Peer): void {
			const moment = moments[joined++ % count];
			moment?.set(socket, 0);
			socket.on("pong", () => moment?.set(socket, 0));
			socket.on("close", () => moment?.delete(socket));
		},

		close: (): void => clearInterval(timer),
	};
}

function ask(peers: Map<Peer, number>, allowed: number): void {
	for (const [socket, unanswered] of peers) {
		// While we do not read it, its answers wait with all else; but it wants to hear from us.
		if (socket.isPaused) socket.ping();
		else if (unanswered >= allowed) socket.terminate();
		else if (socket.readyState === socket.OPEN) {
			peers.set(socket, unanswered + 1);
			socket.ping();
		}
	}
}

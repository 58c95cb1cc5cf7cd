/**
 * Pings every socket regularly. A device that loses power or Wi-Fi closes nothing, and TCP would show it as
 * connected for hours.
 */

import type { WebSocket } from "ws";

export interface Peer extends Pick<WebSocket, "OPEN" | "readyState" | "isPaused"> {
	ping(): void;
	terminate(): void;
	on(event: "pong" | "close", listener: () => void): unknown;
}

/** Sockets are pinged at different times of the interval: if all answered at once, reports would wait. */
const momentMs = 25;

export type Heartbeat = ReturnType<typeof startHeartbeat>;

/**
 * @param intervalMs between two pings of one socket
 * @param allowed unanswered pings before the socket is destroyed
 */
export function startHeartbeat(intervalMs: number, allowed: number) {
	const count = Math.max(1, Math.floor(intervalMs / momentMs));
	/** By time slot: its sockets, with the number of unanswered pings. */
	const moments = Array.from({ length: count }, () => new Map<Peer, number>());
	let joined = 0;
	let beats = 0;
	const timer = setInterval(() => {
		const moment = moments[beats++ % count];
		if (moment) ask(moment, allowed);
	}, intervalMs / count).unref();
	return {
		/** Pings a socket until it is closed. */
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
		// Its pongs are not read while it is paused; but it expects our pings.
		if (socket.isPaused) socket.ping();
		else if (unanswered >= allowed) socket.terminate();
		else if (socket.readyState === socket.OPEN) {
			peers.set(socket, unanswered + 1);
			socket.ping();
		}
	}
}

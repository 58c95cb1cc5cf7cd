/**
 * Pings every socket regularly. A device that loses power or Wi-Fi closes nothing; TCP would show it as connected
 * for hours.
 */

import type { WebSocket } from "ws";

export interface Peer extends Pick<WebSocket, "OPEN" | "readyState" | "isPaused"> {
	ping(): void;
	terminate(): void;
	on(event: "pong" | "close", listener: (this: Peer) => void): unknown;
}

/** Sockets are pinged at different times: if all answered at once, reports would wait. */
const momentMs = 25;

export type Heartbeat = ReturnType<typeof startHeartbeat>;

/**
 * @param intervalMs between two pings of one socket
 * @param allowed unanswered pings before the socket is destroyed
 */
export function startHeartbeat(intervalMs: number, allowed: number) {
	const count = Math.max(1, Math.floor(intervalMs / momentMs));
	/** By time slot: sockets, with their unanswered pings. */
	const moments = Array.from({ length: count }, () => new Map<Peer, number>());
	const momentOf = new Map<Peer, Map<Peer, number>>();
	let joined = 0;
	let beats = 0;
	const timer = setInterval(() => {
		const moment = moments[beats++ % count];
		if (moment) ask(moment, allowed);
	}, intervalMs / count).unref();
	// Of all sockets: closures of each would take more memory.
	function onPong(this: Peer): void {
		momentOf.get(this)?.set(this, 0);
	}
	function onClose(this: Peer): void {
		momentOf.get(this)?.delete(this);
		momentOf.delete(this);
	}
	return {
		/** Pings a socket until it is closed. */
		watch(socket: Peer): void {
			const moment = moments[joined++ % count];
			if (!moment) return;
			moment.set(socket, 0);
			momentOf.set(socket, moment);
			socket.on("pong", onPong);
			socket.on("close", onClose);
		},

		close: (): void => clearInterval(timer),
	};
}

function ask(peers: Map<Peer, number>, allowed: number): void {
	for (const [socket, unanswered] of peers) {
		// Its pongs are not read, but it expects our pings.
		if (socket.isPaused) socket.ping();
		else if (unanswered >= allowed) socket.terminate();
		else if (socket.readyState === socket.OPEN) {
			peers.set(socket, unanswered + 1);
			socket.ping();
		}
	}
}

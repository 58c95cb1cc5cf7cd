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

/** The sockets of one time slot, with their unanswered pings. */
interface Moment {
	readonly peers: Map<Peer, number>;
	askedAt: number;
}

/**
 * @param intervalMs between two pings of one socket; under load up to a third more
 * @param allowed unanswered pings before the socket is destroyed
 * @param monotonic milliseconds; ticks are no measure of time, as each is late under load
 */
export function startHeartbeat(intervalMs: number, allowed: number, monotonic: () => number) {
	const count = Math.max(1, Math.floor(intervalMs / momentMs));
	const stepMs = intervalMs / count;
	const startedAt = monotonic();
	const moments = Array.from(
		{ length: count },
		(): Moment => ({ peers: new Map(), askedAt: Number.NEGATIVE_INFINITY }),
	);
	const momentOf = new Map<Peer, Map<Peer, number>>();
	let joined = 0;
	let beats = 0;
	const timer = setInterval(() => {
		const now = monotonic();
		const due = Math.floor((now - startedAt) / stepMs);
		// After a longer pause each socket is pinged once.
		for (beats = Math.max(beats, due - count); beats < due; beats++) {
			const moment = moments[beats % count];
			// Pinged late: until the next ping there must be time to answer.
			if (!moment || now - moment.askedAt < intervalMs / 3) continue;
			moment.askedAt = now;
			ask(moment.peers, allowed);
		}
	}, stepMs).unref();
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
			const peers = moments[joined++ % count]?.peers;
			if (!peers) return;
			peers.set(socket, 0);
			momentOf.set(socket, peers);
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

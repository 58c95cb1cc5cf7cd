/**
 * Pings every socket regularly. A device that loses power or Wi-Fi closes nothing; TCP would show it as connected for
 * hours.
 */

import type { WebSocket } from "ws";

export interface Peer extends Pick<WebSocket, "OPEN" | "readyState" | "isPaused"> {
	ping(): void;
	terminate(): void;
	on(event: "pong" | "close", listener: (this: Peer) => void): unknown;
}

/** Sockets are pinged in time slots: answers in one moment would delay reports. */
const momentMs = 25;

export type Heartbeat = ReturnType<typeof startHeartbeat>;

/** A time slot's sockets, with their unanswered pings. */
interface Moment {
	readonly peers: Map<Peer, number>;
	askedAt: number;
}

/**
 * @param intervalMs between pings of one socket; under load up to a third more
 * @param allowed unanswered pings before the socket is destroyed
 * @param monotonic milliseconds; timers are late under load
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
	const busy = new WeakMap<Peer, () => boolean>();
	let joined = 0;
	let beats = 0;
	const timer = setInterval(() => {
		const now = monotonic();
		const due = Math.floor((now - startedAt) / stepMs);
		// After a long pause each socket is pinged only once.
		for (beats = Math.max(beats, due - count); beats < due; beats++) {
			const moment = moments[beats % count];
			// After a late ping, a socket needs time to answer.
			if (!moment || now - moment.askedAt < intervalMs / 3) continue;
			moment.askedAt = now;
			ask(moment.peers, allowed, busy);
		}
	}, stepMs).unref();
	// Shared by all sockets, to save memory.
	function onPong(this: Peer): void {
		momentOf.get(this)?.set(this, 0);
	}
	function onClose(this: Peer): void {
		momentOf.get(this)?.delete(this);
		momentOf.delete(this);
	}
	return {
		/**
		 * Pings a socket until it is closed.
		 * @param isBusy whether unanswered pings do not count now: they wait behind what is being sent
		 */
		watch(socket: Peer, isBusy?: () => boolean): void {
			const peers = moments[joined++ % count]?.peers;
			if (!peers) return;
			peers.set(socket, 0);
			momentOf.set(socket, peers);
			if (isBusy) busy.set(socket, isBusy);
			socket.on("pong", onPong);
			socket.on("close", onClose);
		},

		close: (): void => clearInterval(timer),
	};
}

function ask(peers: Map<Peer, number>, allowed: number, busy: WeakMap<Peer, () => boolean>): void {
	for (const [socket, unanswered] of peers) {
		// Its pongs are not read, but it expects pings.
		if (socket.isPaused || (busy.get(socket)?.() && socket.readyState === socket.OPEN)) socket.ping();
		else if (unanswered >= allowed) socket.terminate();
		else if (socket.readyState === socket.OPEN) {
			peers.set(socket, unanswered + 1);
			socket.ping();
		}
	}
}

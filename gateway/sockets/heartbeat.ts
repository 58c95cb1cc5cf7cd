/**
 * Detects dead peers: a device that loses power or Wi-Fi does not close its connection, which TCP keeps open for hours.
 * Devices also detect a dead gateway by the absence of frames. Each socket is pinged regularly; a device that has just
 * reported gets an unsolicited pong instead, which needs no response (RFC 6455, section 5.5.3).
 */

import type { WebSocket } from "ws";

export interface Peer extends Pick<WebSocket, "OPEN" | "readyState" | "isPaused"> {
	ping(): void;
	pong(): void;
	terminate(): void;
	on(event: "pong" | "close", listener: () => void): unknown;
}

/** Activity of a peer other than its pongs. */
export interface PeerActivity {
	/** Time of the latest report; changes with each one. */
	readonly lastSeenAt?: number;
	/** Whether the peer is receiving a snapshot, which delays its pongs; unanswered pings are not counted meanwhile. */
	readonly isLoading?: boolean;
}

/** Duration of a time slot. Sockets are pinged in slots, since simultaneous pongs would delay reports. */
const slotMs = 25;

export type Heartbeat = ReturnType<typeof startHeartbeat>;

interface WatchedPeer {
	readonly socket: Peer;
	readonly activity: PeerActivity;
	/** `lastSeenAt` at the latest heartbeat. */
	lastSeenAt: number | undefined;
	/** Heartbeats since the latest pong or report. */
	unanswered: number;
}

/**
 * @param intervalMs interval between two heartbeats of one socket; up to a third longer under load
 * @param maxUnanswered unanswered heartbeats after which the socket is terminated
 * @param monotonic monotonic clock in milliseconds, since timers are late under load
 */
export function startHeartbeat(intervalMs: number, maxUnanswered: number, monotonic: () => number) {
	const slotCount = Math.max(1, Math.floor(intervalMs / slotMs));
	const stepMs = intervalMs / slotCount;
	const startedAt = monotonic();
	const slots = Array.from({ length: slotCount }, () => ({
		peers: new Set<WatchedPeer>(),
		pingedAt: Number.NEGATIVE_INFINITY,
	}));
	let nextSlot = 0;
	let step = 0;
	const timer = setInterval(() => {
		const now = monotonic();
		const due = Math.floor((now - startedAt) / stepMs);
		// Ping each socket only once after the timer was delayed by more than an interval.
		for (step = Math.max(step, due - slotCount); step < due; step++) {
			const slot = slots[step % slotCount];
			// Sockets need time to answer a late ping.
			if (!slot || now - slot.pingedAt < intervalMs / 3) continue;
			slot.pingedAt = now;
			for (const peer of slot.peers) ping(peer, maxUnanswered);
		}
	}, stepMs).unref();
	return {
		/** Pings the socket until it is closed. */
		watch(socket: Peer, activity: PeerActivity): void {
			const peers = slots[nextSlot++ % slotCount]?.peers;
			const peer = { socket, activity, lastSeenAt: activity.lastSeenAt, unanswered: 0 };
			peers?.add(peer);
			socket.on("pong", () => {
				peer.unanswered = 0;
			});
			socket.on("close", () => peers?.delete(peer));
		},

		close: (): void => clearInterval(timer),
	};
}

/** Sends a ping or pong, or terminates a peer that has not answered. */
function ping(peer: WatchedPeer, maxUnanswered: number): void {
	const { socket, activity } = peer;
	const isOpen = socket.readyState === socket.OPEN;
	// Pongs are not read or are delayed now, but the peer expects pings.
	if (socket.isPaused || (activity.isLoading && isOpen)) return socket.ping();
	const hasReported = activity.lastSeenAt !== peer.lastSeenAt;
	if (hasReported) peer.unanswered = 0;
	peer.lastSeenAt = activity.lastSeenAt;
	if (peer.unanswered >= maxUnanswered) return socket.terminate();
	if (!isOpen) return;
	peer.unanswered += 1;
	if (hasReported) socket.pong();
	else socket.ping();
}

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
}

/**
 * Pings a socket until it is closed.
 * @param intervalMs longest interval; random up to a tenth less, since simultaneous pongs of a fleet would delay reports
 * @param maxUnanswered unanswered heartbeats after which the socket is terminated
 */
export function startHeartbeat(
	socket: Peer,
	activity: PeerActivity,
	intervalMs: number,
	maxUnanswered: number,
): void {
	/** `lastSeenAt` at the latest heartbeat. */
	let { lastSeenAt } = activity;
	/** Heartbeats since the latest pong or report. */
	let unanswered = 0;
	const beat = () => {
		timer = plan();
		// Pongs are not read now, but the peer expects pings.
		if (socket.isPaused) return socket.ping();
		const hasReported = activity.lastSeenAt !== lastSeenAt;
		if (hasReported) unanswered = 0;
		lastSeenAt = activity.lastSeenAt;
		if (unanswered >= maxUnanswered) return socket.terminate();
		if (socket.readyState !== socket.OPEN) return;
		unanswered += 1;
		if (hasReported) socket.pong();
		else socket.ping();
	};
	const plan = () => setTimeout(beat, intervalMs * (0.9 + Math.random() / 10)).unref();
	let timer = plan();
	socket.on("pong", () => {
		unanswered = 0;
	});
	socket.on("close", () => clearTimeout(timer));
}

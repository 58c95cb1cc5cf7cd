/**
 * Detects dead peers: a device that loses power or Wi-Fi does not close its connection, which TCP keeps open for hours.
 * Devices expect frames, too: each gets a ping regularly, or, if it has just reported, a pong, which it does not
 * answer (RFC 6455, section 5.5.3).
 */

import type { WebSocket } from "ws";

export interface Peer extends Pick<WebSocket, "OPEN" | "readyState" | "isPaused"> {
	ping(): void;
	pong(): void;
	terminate(): void;
	on(event: "pong" | "close", listener: () => void): unknown;
}

/** The peer as other parts know it. */
export interface Watched {
	/** Changes with each report. */
	readonly lastSeenAt?: number;
	/** Unanswered pings do not count now: they wait behind what is being sent. */
	readonly isLoading?: boolean;
}

/** Sockets are pinged in time slots: answers in one moment would delay reports. */
const slotMs = 25;

export type Heartbeat = ReturnType<typeof startHeartbeat>;

interface Pulse {
	readonly socket: Peer;
	readonly watched: Watched;
	/** At the latest beat. */
	lastSeenAt: number | undefined;
	/** Beats since it was heard. */
	silent: number;
}

/**
 * @param intervalMs between beats of one socket; under load up to a third more
 * @param allowed beats without a sign of life before the socket is destroyed
 * @param monotonic milliseconds; timers are late under load
 */
export function startHeartbeat(intervalMs: number, allowed: number, monotonic: () => number) {
	const count = Math.max(1, Math.floor(intervalMs / slotMs));
	const stepMs = intervalMs / count;
	const startedAt = monotonic();
	const slots = Array.from({ length: count }, () => ({
		pulses: new Set<Pulse>(),
		beatAt: Number.NEGATIVE_INFINITY,
	}));
	let joined = 0;
	let beats = 0;
	const timer = setInterval(() => {
		const now = monotonic();
		const due = Math.floor((now - startedAt) / stepMs);
		// After a long pause each socket is pinged only once.
		for (beats = Math.max(beats, due - count); beats < due; beats++) {
			const slot = slots[beats % count];
			// After a late ping, a socket needs time to answer.
			if (!slot || now - slot.beatAt < intervalMs / 3) continue;
			slot.beatAt = now;
			for (const pulse of slot.pulses) beat(pulse, allowed);
		}
	}, stepMs).unref();
	return {
		/** Pings the socket until it is closed. */
		watch(socket: Peer, watched: Watched): void {
			const pulses = slots[joined++ % count]?.pulses;
			const pulse = { socket, watched, lastSeenAt: watched.lastSeenAt, silent: 0 };
			pulses?.add(pulse);
			socket.on("pong", () => {
				pulse.silent = 0;
			});
			socket.on("close", () => pulses?.delete(pulse));
		},

		close: (): void => clearInterval(timer),
	};
}

function beat(pulse: Pulse, allowed: number): void {
	const { socket, watched } = pulse;
	const isOpen = socket.readyState === socket.OPEN;
	// Its pongs are not read, but it expects pings.
	if (socket.isPaused || (watched.isLoading && isOpen)) return socket.ping();
	const hasReported = watched.lastSeenAt !== pulse.lastSeenAt;
	if (hasReported) pulse.silent = 0;
	pulse.lastSeenAt = watched.lastSeenAt;
	if (pulse.silent >= allowed) return socket.terminate();
	if (!isOpen) return;
	pulse.silent += 1;
	if (hasReported) socket.pong();
	else socket.ping();
}

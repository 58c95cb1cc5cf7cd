/**
 * One monitor's socket as seen by whoever sends to it. A browser on a bad line reads slower than a fleet talks; without
 * this its backlog would grow in the gateway's memory until every device and every other monitor paid for it.
 */

import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { closeCodes, type SocketLimits } from "./limits.js";

export type Monitor = ReturnType<typeof createMonitor>;

export interface MonitorOptions {
	readonly socket: WebSocket;
	/** What the socket writes to. */
	readonly stream: Duplex;
	readonly limits: Pick<SocketLimits, "slowMonitorBytes" | "stuckMonitorBytes">;
	/** To be awaited before each further frame of a snapshot: see turns.ts. */
	readonly turn: () => Promise<void>;
}

export function createMonitor({ socket, stream, limits, turn }: MonitorOptions) {
	/** Of each session, by its id, the newest state report that this monitor is too slow for. */
	const waiting = new Map<string, Buffer>();
	/** The frames of the snapshot that have not been sent yet. */
	let snapshot: Iterator<string> | undefined;
	let isSnapshotPlanned = false;
	const monitor = {
		/** Bytes that it has not read yet. */
		get unread(): number {
			return socket.bufferedAmount;
		},

		/** Holds back what is sent, so that the system is asked once to write all of it. */
		cork: (): void => stream.cork(),

		/** Sends what was held back. */
		uncork: (): void => stream.uncork(),

		/**
		 * Sends the records of all sessions: at the start, and again after devices were forgotten. The first frame is sent
		 * at once, each further one when the monitor has read most of what was sent before.
		 */
		sendSnapshot(frames: Iterator<string>): void {
			waiting.clear();
			snapshot = frames;
			sendNextOfSnapshot();
		},

		/** Sends what no monitor may miss: a change of a session, or an answer. */
		send(frame: Buffer): void {
			if (socket.readyState !== socket.OPEN) return;
			socket.send(frame, { binary: false }, sendWaiting);
			if (!hasMoreThan(limits.stuckMonitorBytes)) return;
			waiting.clear();
			socket.close(closeCodes.tryAgainLater, "reads too slowly");
		},

		/** Sends a session's record; it shows the newest state, so a report that waits is not needed any more. */
		sendChange(sessionId: string, frame: Buffer): void {
			waiting.delete(sessionId);
			monitor.send(frame);
		},

		/** Relays an uplink. While the monitor is slow a state report waits, a newer one takes its place, and others are dropped. */
		relay(sessionId: string, frame: Buffer, isStateReport: boolean): void {
			if (!hasMoreThan(limits.slowMonitorBytes)) monitor.sendChange(sessionId, frame);
			else if (isStateReport) waiting.set(sessionId, frame);
		},

		/** Starts the closing handshake. */
		close: (code: number, reason: string): void => socket.close(code, reason),
	};
	return monitor;

	/** Called when something was written: the monitor may have caught up. */
	function sendWaiting(): void {
		for (const [sessionId, frame] of waiting) {
			if (hasMoreThan(limits.slowMonitorBytes)) return;
			monitor.sendChange(sessionId, frame);
		}
		void continueSnapshot();
	}

	async function continueSnapshot(): Promise<void> {
		if (!snapshot || isSnapshotPlanned || !mayTakeSnapshot()) return;
		isSnapshotPlanned = true;
		await turn();
		isSnapshotPlanned = false;
		// Otherwise what is unread by now, once written, leads here again.
		if (mayTakeSnapshot()) sendNextOfSnapshot();
	}

	/** A frame of the snapshot alone must not make a monitor slow, and no report that waits may be older than it. */
	function mayTakeSnapshot(): boolean {
		return waiting.size === 0 && monitor.unread <= limits.slowMonitorBytes / 2;
	}

	function sendNextOfSnapshot(): void {
		const next = socket.readyState === socket.OPEN ? snapshot?.next() : undefined;
		if (next && !next.done) monitor.send(Buffer.from(next.value));
		else snapshot = undefined;
	}

	/** Whether it has left more than so many bytes unread; what is held back for the end of this turn is not its fault. */
	function hasMoreThan(limit: number): boolean {
		if (monitor.unread <= limit) return false;
		if (stream.writableCorked > 0) {
			stream.uncork();
			stream.cork();
		}
		return monitor.unread > limit;
	}
}

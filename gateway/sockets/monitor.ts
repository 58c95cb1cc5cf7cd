/**
 * One monitor's socket, with back-pressure. A browser on a slow line reads less than a fleet sends; its backlog must
 * not fill the gateway's memory.
 */

import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { closeCodes, type SocketLimits } from "./limits.js";

export type Monitor = ReturnType<typeof createMonitor>;

export interface MonitorOptions {
	readonly socket: WebSocket;
	/** The connection under the socket. */
	readonly stream: Duplex;
	readonly limits: Pick<SocketLimits, "slowMonitorBytes" | "stuckMonitorBytes">;
	/** Awaited before each further frame of a snapshot: see event-loop.ts. */
	readonly yieldToLoop: () => Promise<void>;
}

export function createMonitor({ socket, stream, limits, yieldToLoop }: MonitorOptions) {
	/** By session id: the newest state report that the monitor was too slow for. */
	const waiting = new Map<string, Buffer>();
	/** The rest of the snapshot. */
	let snapshot: Iterator<string> | undefined;
	let isSnapshotPlanned = false;
	const monitor = {
		/** In bytes. */
		get unread(): number {
			return socket.bufferedAmount;
		},

		/** Collects what is sent, for one system call. */
		cork: (): void => stream.cork(),

		uncork: (): void => stream.uncork(),

		/**
		 * Sends all sessions' records. Each frame after the first is sent once the monitor has read most of the
		 * previous ones.
		 */
		sendSnapshot(frames: Iterator<string>): void {
			waiting.clear();
			snapshot = frames;
			sendNextOfSnapshot();
		},

		/** Sends a frame that must not be dropped: a change or an answer. */
		send(frame: Buffer): void {
			if (socket.readyState !== socket.OPEN) return;
			socket.send(frame, { binary: false }, sendWaiting);
			if (!hasMoreThan(limits.stuckMonitorBytes)) return;
			waiting.clear();
			socket.close(closeCodes.tryAgainLater, "reads too slowly");
		},

		/** Sends a session's record; it includes the newest state, which replaces a waiting report. */
		sendChange(sessionId: string, frame: Buffer): void {
			waiting.delete(sessionId);
			monitor.send(frame);
		},

		/** Sends an uplink. To a slow monitor, only each session's newest state report is sent, later. */
		relay(sessionId: string, frame: Buffer, isStateReport: boolean): void {
			if (!hasMoreThan(limits.slowMonitorBytes)) monitor.sendChange(sessionId, frame);
			else if (isStateReport) waiting.set(sessionId, frame);
		},

		close: (code: number, reason: string): void => socket.close(code, reason),
	};
	return monitor;

	/** Called after a write: the monitor may have caught up. */
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
		await yieldToLoop();
		isSnapshotPlanned = false;
		// Otherwise the write of the rest calls this again.
		if (mayTakeSnapshot()) sendNextOfSnapshot();
	}

	/** A snapshot alone must not make a monitor slow, and no waiting report may be older than it. */
	function mayTakeSnapshot(): boolean {
		return waiting.size === 0 && monitor.unread <= limits.slowMonitorBytes / 2;
	}

	function sendNextOfSnapshot(): void {
		const next = socket.readyState === socket.OPEN ? snapshot?.next() : undefined;
		if (next && !next.done) monitor.send(Buffer.from(next.value));
		else snapshot = undefined;
	}

	/** Whether more bytes are unread; what is corked in this turn does not count. */
	function hasMoreThan(limit: number): boolean {
		if (monitor.unread <= limit) return false;
		if (stream.writableCorked > 0) {
			stream.uncork();
			stream.cork();
		}
		return monitor.unread > limit;
	}
}

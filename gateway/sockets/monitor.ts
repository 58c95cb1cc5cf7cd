/**
 * One monitor's socket as seen by whoever sends to it. A browser on a bad line reads slower than a fleet talks; without
 * this its backlog would grow in the gateway's memory until every device and every other monitor paid for it.
 */

import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { closeCodes, type SocketLimits } from "./limits.js";

/** A batch that is so large is sent before its time, or what waits for that would look like what a monitor does not read. */
const fullBatchBytes = 256 * 1024;
const [opening, comma, closing] = [Buffer.from("["), Buffer.from(","), Buffer.from("]")];

export type Monitor = ReturnType<typeof createMonitor>;

/**
 * @param stream what the socket writes to
 * @param batchMs frames are gathered for so long and sent as one JSON array; undefined: each on its own, at once
 */
export function createMonitor(socket: WebSocket, stream: Duplex, limits: SocketLimits, batchMs?: number) {
	const batch = batchMs === undefined ? undefined : createBatch(batchMs, write);
	/** Of each session, by its id, the newest state report that this monitor is too slow for. */
	const waiting = new Map<string, Buffer>();
	/** The snapshot of a large fleet may be larger than any limit; it alone must not make a monitor slow. */
	let snapshotBytes = 0;
	const monitor = {
		/** Bytes that it has not read yet. */
		get unread(): number {
			return socket.bufferedAmount + (batch?.bytes ?? 0);
		},

		/** Holds back what is sent, so that the system is asked once to write all of it. */
		cork: (): void => stream.cork(),

		/** Sends what was held back. */
		uncork: (): void => stream.uncork(),

		/** Sends the records of all sessions: the first frame, and again after devices were forgotten. */
		sendSnapshot(snapshot: Buffer): void {
			waiting.clear();
			snapshotBytes = snapshot.length;
			monitor.send(snapshot);
		},

		/** Sends what no monitor may miss: a change of a session, or an answer. */
		send(frame: Buffer): void {
			if (socket.readyState !== socket.OPEN) return;
			if (batch) batch.add(frame);
			else write(frame);
			if (!hasMoreThan(limits.stuckMonitorBytes)) return;
			waiting.clear();
			close(closeCodes.tryAgainLater, "reads too slowly");
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

		/** Starts the closing handshake, after what is gathered has been sent. */
		close(code: number, reason: string): void {
			batch?.send();
			close(code, reason);
		},
	};
	return monitor;

	function write(text: Buffer): void {
		if (socket.readyState === socket.OPEN) socket.send(text, { binary: false }, sendWaiting);
	}

	/** While it is braked it is not read, and we would not hear its goodbye. */
	function close(code: number, reason: string): void {
		socket.resume();
		socket.close(code, reason);
	}

	/** Called when something was written: the monitor may have caught up. */
	function sendWaiting(): void {
		for (const [sessionId, frame] of waiting) {
			if (hasMoreThan(limits.slowMonitorBytes)) return;
			monitor.sendChange(sessionId, frame);
		}
	}

	/** Whether it has left more than so many bytes unread; what is held back for the end of this turn is not its fault. */
	function hasMoreThan(limit: number): boolean {
		if (monitor.unread - snapshotBytes <= limit) return false;
		if (stream.writableCorked > 0) {
			stream.uncork();
			stream.cork();
		}
		return monitor.unread - snapshotBytes > limit;
	}
}

/** @param onDue takes a JSON array of what was added within `batchMs` */
function createBatch(batchMs: number, onDue: (text: Buffer) => void) {
	let parts: Buffer[] = [];
	let timer: NodeJS.Timeout | undefined;
	const batch = {
		bytes: 0,

		add(frame: Buffer): void {
			parts.push(parts.length === 0 ? opening : comma, frame);
			batch.bytes += frame.length;
			if (batch.bytes > fullBatchBytes) batch.send();
			else timer ??= setTimeout(batch.send, batchMs);
		},

		send: (): void => {
			clearTimeout(timer);
			timer = undefined;
			const gathered = parts;
			parts = [];
			batch.bytes = 0;
			if (gathered.length > 0) onDue(Buffer.concat([...gathered, closing]));
		},
	};
	return batch;
}

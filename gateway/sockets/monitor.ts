/**
 * One monitor's socket as seen by whoever sends to it. A browser on a bad line reads slower than a fleet talks; without
 * this its backlog would grow in the gateway's memory until every device and every other monitor paid for it.
 */

import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { closeCodes, type SocketLimits } from "./limits.js";

const [opening, comma, closing] = [Buffer.from("["), Buffer.from(","), Buffer.from("]")];

export interface MonitorOptions {
	readonly socket: WebSocket;
	/** What the socket writes to. */
	readonly stream: Duplex;
	readonly limits: SocketLimits;
	/** Frames are gathered for so long and sent as one JSON array; undefined: each on its own, at once. */
	readonly batchMs: number | undefined;
}

export class Monitor {
	readonly #options: MonitorOptions;
	/** What is gathered: each frame after a bracket or a comma. */
	#batch: Buffer[] = [];
	#batchBytes = 0;
	#batchTimer: NodeJS.Timeout | undefined;
	/** The snapshot of a large fleet may be larger than any limit; it alone must not make a monitor slow. */
	#snapshotBytes = 0;
	/** Of each session, by its id, the newest state report that this monitor is too slow for. */
	readonly #waiting = new Map<string, Buffer>();

	constructor(options: MonitorOptions) {
		this.#options = options;
	}

	/** Bytes that it has not read yet. */
	get unread(): number {
		return this.#options.socket.bufferedAmount + this.#batchBytes;
	}

	/** Holds back what is sent, so that the system is asked once to write all of it. */
	cork(): void {
		this.#options.stream.cork();
	}

	/** Sends what was held back. */
	uncork(): void {
		this.#options.stream.uncork();
	}

	/** Sends the records of all sessions: the first frame, and again after devices were forgotten. */
	sendSnapshot(snapshot: Buffer): void {
		this.#waiting.clear();
		this.#snapshotBytes = snapshot.length;
		this.send(snapshot);
	}

	/** Sends what no monitor may miss: a change of a session, or an answer. */
	send(frame: Buffer): void {
		const { socket, limits, batchMs } = this.#options;
		if (socket.readyState !== socket.OPEN) return;
		if (batchMs === undefined) socket.send(frame, { binary: false }, this.#sendWaiting);
		else this.#gather(frame, batchMs);
		if (!this.#hasMoreThan(limits.stuckMonitorBytes)) return;
		this.#waiting.clear();
		socket.close(closeCodes.tryAgainLater, "reads too slowly");
	}

	/** Sends a session's record; it shows the newest state, so a report that waits is not needed any more. */
	sendChange(sessionId: string, frame: Buffer): void {
		this.#waiting.delete(sessionId);
		this.send(frame);
	}

	/** Relays an uplink. While the monitor is slow a state report waits, a newer one takes its place, and others are dropped. */
	relay(sessionId: string, frame: Buffer, isStateReport: boolean): void {
		if (!this.#hasMoreThan(this.#options.limits.slowMonitorBytes)) this.sendChange(sessionId, frame);
		else if (isStateReport) this.#waiting.set(sessionId, frame);
	}

	/** Starts the closing handshake, after what is gathered has been sent. */
	close(code: number, reason: string): void {
		this.#sendBatch();
		this.#options.socket.close(code, reason);
	}

	#gather(frame: Buffer, batchMs: number): void {
		this.#batch.push(this.#batch.length === 0 ? opening : comma, frame);
		this.#batchBytes += frame.length;
		this.#batchTimer ??= setTimeout(() => this.#sendBatch(), batchMs);
	}

	#sendBatch(): void {
		const { socket } = this.#options;
		const frames = this.#batch;
		clearTimeout(this.#batchTimer);
		this.#batchTimer = undefined;
		this.#batch = [];
		this.#batchBytes = 0;
		if (frames.length === 0 || socket.readyState !== socket.OPEN) return;
		socket.send(Buffer.concat([...frames, closing]), { binary: false }, this.#sendWaiting);
	}

	/** To be called whenever something was written: the monitor may have caught up. */
	readonly #sendWaiting = (): void => {
		for (const [sessionId, frame] of this.#waiting) {
			if (this.#hasMoreThan(this.#options.limits.slowMonitorBytes)) return;
			this.sendChange(sessionId, frame);
		}
	};

	/** Whether it has left more than so many bytes unread; what is held back for the end of this turn is not its fault. */
	#hasMoreThan(limit: number): boolean {
		const { stream } = this.#options;
		if (this.unread - this.#snapshotBytes <= limit) return false;
		if (stream.writableCorked > 0) {
			stream.uncork();
			stream.cork();
		}
		return this.unread - this.#snapshotBytes > limit;
	}
}

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
	readonly #socket: WebSocket;
	readonly #stream: Duplex;
	readonly #limits: SocketLimits;
	readonly #batchMs: number | undefined;
	#batch: Buffer[] = [];
	#batchBytes = 0;
	#batchTimer: NodeJS.Timeout | undefined;
	/** The snapshot of a large fleet may be larger than any limit; it alone must not make a monitor slow. */
	#snapshotBytes = 0;
	/** Of each session, by its id, the newest state report that this monitor is too slow for. */
	readonly #waiting = new Map<string, Buffer>();

	constructor(options: MonitorOptions) {
		this.#socket = options.socket;
		this.#stream = options.stream;
		this.#limits = options.limits;
		this.#batchMs = options.batchMs;
	}

	/** Bytes that it has not read yet. */
	get unread(): number {
		return this.#socket.bufferedAmount + this.#batchBytes;
	}

	/** Holds back what is sent, so that the system is asked once to write all of it. */
	cork(): void {
		this.#stream.cork();
	}

	/** Sends what was held back. */
	uncork(): void {
		this.#stream.uncork();
	}

	/** Sends the records of all sessions: the first frame, and again after devices were forgotten. */
	sendSnapshot(snapshot: Buffer): void {
		this.#waiting.clear();
		this.#snapshotBytes = snapshot.length;
		this.send(snapshot);
	}

	/** Sends what no monitor may miss: a change of a session, or an answer. */
	send(frame: Buffer | string): void {
		const socket = this.#socket;
		if (socket.readyState !== socket.OPEN) return;
		if (this.#batchMs === undefined) socket.send(frame, { binary: false }, this.#onWritten);
		else this.#gather(Buffer.from(frame), this.#batchMs);
		if (!this.#hasMoreThan(this.#limits.stuckMonitorBytes)) return;
		this.#waiting.clear();
		this.#takeBatch();
		socket.close(closeCodes.tryAgainLater, "reads too slowly");
	}

	/** Sends a session's record; it shows the newest state, so a report that waits is not needed any more. */
	sendChange(sessionId: string, frame: Buffer): void {
		this.#waiting.delete(sessionId);
		this.send(frame);
	}

	/** Relays an uplink. While the monitor is slow a state report waits, a newer one takes its place, and others are dropped. */
	relay(sessionId: string, frame: Buffer, isStateReport: boolean): void {
		if (!this.#isSlow()) this.sendChange(sessionId, frame);
		else if (isStateReport) this.#waiting.set(sessionId, frame);
	}

	/** Starts the closing handshake, after what is gathered has been sent. */
	close(code: number, reason: string): void {
		this.#sendBatch();
		this.#socket.close(code, reason);
	}

	#gather(frame: Buffer, batchMs: number): void {
		this.#batch.push(frame);
		this.#batchBytes += frame.length;
		this.#batchTimer ??= setTimeout(() => this.#sendBatch(), batchMs);
	}

	#sendBatch(): void {
		const frames = this.#takeBatch();
		if (frames.length === 0 || this.#socket.readyState !== this.#socket.OPEN) return;
		const parts = frames.flatMap((frame, index) => [index === 0 ? opening : comma, frame]);
		this.#socket.send(Buffer.concat([...parts, closing]), { binary: false }, this.#onWritten);
	}

	#takeBatch(): readonly Buffer[] {
		clearTimeout(this.#batchTimer);
		this.#batchTimer = undefined;
		const frames = this.#batch;
		this.#batch = [];
		this.#batchBytes = 0;
		return frames;
	}

	readonly #onWritten = (): void => {
		for (const [sessionId, frame] of this.#waiting) {
			if (this.#isSlow()) return;
			this.#waiting.delete(sessionId);
			this.send(frame);
		}
	};

	#isSlow(): boolean {
		return this.#hasMoreThan(this.#limits.slowMonitorBytes);
	}

	/** Whether it has left more than so many bytes unread; what is held back for the end of this turn is not its fault. */
	#hasMoreThan(limit: number): boolean {
		const isMore = () => this.unread - this.#snapshotBytes > limit;
		if (!isMore()) return false;
		if (this.#stream.writableCorked > 0) {
			this.#stream.uncork();
			this.#stream.cork();
		}
		return isMore();
	}
}

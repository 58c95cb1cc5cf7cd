/**
 * One monitor's socket as seen by whoever sends to it. A browser on a bad line reads slower than a fleet talks; without
 * this its backlog would grow in the gateway's memory until every device and every other monitor paid for it.
 */

import type { WebSocket } from "ws";
import { closeCodes, type SocketLimits } from "./limits.js";

export class Monitor {
	readonly #socket: WebSocket;
	readonly #limits: SocketLimits;
	/** The snapshot of a large fleet may be larger than any limit; it alone must not make a monitor slow. */
	#snapshotBytes = 0;
	/** Of each session, by its id, the newest state report that this monitor is too slow for. */
	readonly #waiting = new Map<string, Buffer>();

	constructor(options: { socket: WebSocket; limits: SocketLimits }) {
		this.#socket = options.socket;
		this.#limits = options.limits;
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
		socket.send(frame, { binary: false }, this.#onWritten);
		if (this.#backlog() <= this.#limits.stuckMonitorBytes) return;
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
		if (!this.#isSlow()) this.sendChange(sessionId, frame);
		else if (isStateReport) this.#waiting.set(sessionId, frame);
	}

	readonly #onWritten = (): void => {
		for (const [sessionId, frame] of this.#waiting) {
			if (this.#isSlow()) return;
			this.#waiting.delete(sessionId);
			this.send(frame);
		}
	};

	#isSlow(): boolean {
		return this.#backlog() > this.#limits.slowMonitorBytes;
	}

	/** In bytes, at least. */
	#backlog(): number {
		return this.#socket.bufferedAmount - this.#snapshotBytes;
	}
}

/**
 * One monitor's socket, with back-pressure: a browser on a slow line reads less than a fleet sends, and its backlog
 * must not fill the memory.
 */

import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { TokenBucket } from "../rates.js";
import type { Session } from "../sessions/device.js";
import { closeCodes, type SocketLimits } from "./limits.js";
import type { Summary } from "./summary.js";

export interface MonitorOptions {
	readonly socket: WebSocket;
	/** The connection under the socket. */
	readonly stream: Duplex;
	readonly limits: Pick<SocketLimits, "slowMonitorBytes" | "stuckMonitorBytes">;
	/** Limits how often it may ask for the whole summary. */
	readonly summaries: TokenBucket;
	/** Awaited before each further frame of a snapshot. */
	readonly yieldToLoop: () => Promise<void>;
}

export class Monitor {
	/** Ids of the devices of which it gets changes and uplinks; undefined: of all, named or not. */
	devices: ReadonlySet<string> | undefined;
	/** Undefined: it has not subscribed to it. */
	summary: Summary | undefined;
	readonly summaries: TokenBucket;
	readonly #options: MonitorOptions;
	/** By session id: reports that the monitor was too slow for. */
	readonly #waiting = new Map<string, Buffer>();
	/** The rest of the snapshot. */
	#snapshot: Iterator<string> | undefined;
	#isSnapshotPlanned = false;
	/** It was too slow for a change of the summary, and gets the whole one again. */
	#isBehind = false;

	constructor(options: MonitorOptions) {
		this.#options = options;
		this.summaries = options.summaries;
	}

	/** In bytes. */
	get unread(): number {
		return this.#options.socket.bufferedAmount;
	}

	/** Collects what is sent, for one system call. */
	cork(): void {
		this.#options.stream.cork();
	}

	uncork(): void {
		this.#options.stream.uncork();
	}

	wants({ device }: Session): boolean {
		if (!this.devices) return true;
		// No summary names a session before its device is known.
		return device ? this.devices.has(device.deviceId) : this.summary !== undefined;
	}

	/** Sends all sessions' records or the whole summary, each further frame once the monitor has read most of the previous ones. */
	sendSnapshot(frames: Iterator<string>): void {
		this.#waiting.clear();
		this.#isBehind = false;
		this.#snapshot = frames;
		this.#sendNextOfSnapshot();
	}

	/** For frames that must not be dropped. */
	send(frame: Buffer): void {
		const { socket, limits } = this.#options;
		if (socket.readyState !== socket.OPEN) return;
		socket.send(frame, { binary: false }, this.#onSent);
		if (!this.#hasMoreThan(limits.stuckMonitorBytes)) return;
		this.#waiting.clear();
		socket.close(closeCodes.tryAgainLater, "reads too slowly");
	}

	/** The record includes the newest state, so it replaces a waiting report. */
	sendChange(sessionId: string, frame: Buffer): void {
		this.#waiting.delete(sessionId);
		this.send(frame);
	}

	/** To a slow monitor, only each session's newest state report is sent, later. */
	relay(sessionId: string, frame: Buffer, isStateReport: boolean): void {
		if (!this.#hasMoreThan(this.#options.limits.slowMonitorBytes)) this.sendChange(sessionId, frame);
		else if (isStateReport) this.#waiting.set(sessionId, frame);
	}

	/** A change of the summary. */
	sendSummary(frame: Buffer): void {
		if (this.#hasMoreThan(this.#options.limits.slowMonitorBytes)) this.#isBehind = true;
		else this.send(frame);
	}

	close(code: number, reason: string): void {
		this.#options.socket.close(code, reason);
	}

	/** The monitor may have caught up. */
	readonly #onSent = (): void => {
		for (const [sessionId, frame] of this.#waiting) {
			if (this.#hasMoreThan(this.#options.limits.slowMonitorBytes)) return;
			this.sendChange(sessionId, frame);
		}
		if (this.#snapshot || this.#isBehind) void this.#continueSnapshot();
	};

	async #continueSnapshot(): Promise<void> {
		if (this.#isSnapshotPlanned || !this.#mayTakeSnapshot()) return;
		this.#isSnapshotPlanned = true;
		await this.#options.yieldToLoop();
		this.#isSnapshotPlanned = false;
		// Otherwise the write of the rest calls this again.
		if (!this.#mayTakeSnapshot()) return;
		if (this.#isBehind && this.summary) this.sendSnapshot(this.summary.snapshot());
		else this.#sendNextOfSnapshot();
	}

	/** A snapshot must not make a monitor slow, and no waiting report may be older than it. */
	#mayTakeSnapshot(): boolean {
		return this.#waiting.size === 0 && this.unread <= this.#options.limits.slowMonitorBytes / 2;
	}

	#sendNextOfSnapshot(): void {
		const { socket } = this.#options;
		const next = socket.readyState === socket.OPEN ? this.#snapshot?.next() : undefined;
		if (next && !next.done) this.send(Buffer.from(next.value));
		else this.#snapshot = undefined;
	}

	/** Whether more bytes are unread; what is corked in this turn does not count. */
	#hasMoreThan(limit: number): boolean {
		const { stream } = this.#options;
		if (this.unread <= limit) return false;
		if (stream.writableCorked > 0) {
			stream.uncork();
			stream.cork();
		}
		return this.unread > limit;
	}
}

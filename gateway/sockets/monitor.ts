/**
 * Monitor connection with back-pressure: a browser on a slow connection reads less than a fleet sends, and its backlog
 * must not exhaust the memory.
 */

import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { Person } from "../api/person.js";
import { closeCodes, type SocketLimits } from "../limits.js";
import type { Session } from "../sessions/device.js";
import { payloadOf } from "./text-frame.js";

export interface MonitorOptions {
	readonly socket: WebSocket;
	/** Underlying connection. */
	readonly stream: Duplex;
	readonly client: {
		readonly remoteAddress: string;
		/** Returns the person with the present role; undefined, after closing the socket, if the token or login has ended. */
		findPerson(): Promise<Person | undefined>;
	};
	readonly limits: Pick<SocketLimits, "slowMonitorBytes" | "stuckMonitorBytes">;
	/** Awaited between two frames of a snapshot. */
	readonly yieldToLoop: () => Promise<void>;
}

export class Monitor {
	/** Ids of the devices whose changes and uplinks the monitor receives; undefined: all devices, identified or not. */
	devices: ReadonlySet<string> | undefined;
	/** Set if the monitor has subscribed to the summary instead of all sessions. */
	summary: { snapshot(): Iterator<string> } | undefined;
	readonly #options: MonitorOptions;
	/** Latest reports that a slow monitor has not received yet, by session id. */
	readonly #delayedReports = new Map<string, Buffer>();
	/** Number of frames that `ws` is compressing; it sends later frames after them. */
	#compressing = 0;
	/** Remaining frames of the snapshot. */
	#snapshot: Iterator<string> | undefined;
	#isSnapshotScheduled = false;
	/** Whether a change of the summary was dropped, so that the whole summary has to be sent again. */
	#hasMissedSummary = false;

	constructor(options: MonitorOptions) {
		this.#options = options;
	}

	get client(): MonitorOptions["client"] {
		return this.#options.client;
	}

	/** Bytes queued for the monitor. */
	get unsentBytes(): number {
		return this.#options.socket.bufferedAmount;
	}

	/** Batches frames into one system call. */
	cork(): void {
		this.#options.stream.cork();
	}

	uncork(): void {
		this.#options.stream.uncork();
	}

	isSubscribedTo({ device }: Session): boolean {
		if (!this.devices) return true;
		// Sessions without a device are not in the summary, so each one is relayed.
		return device ? this.devices.has(device.deviceId) : this.summary !== undefined;
	}

	/**
	 * Sends all session records or the whole summary. Each frame is sent after the monitor has read most of the previous
	 * ones.
	 */
	sendSnapshot(frames: Iterator<string>): void {
		this.#delayedReports.clear();
		this.#hasMissedSummary = false;
		this.#snapshot = frames;
		this.#sendNextSnapshotFrame();
	}

	/**
	 * Sends a frame that must not be dropped.
	 * @param compress with permessage-deflate if negotiated; not for broadcasts, which would be compressed once per monitor
	 */
	send(text: Buffer, compress = false): void {
		const { socket } = this.#options;
		if (socket.readyState !== socket.OPEN) return;
		if (compress) this.#compressing += 1;
		socket.send(text, { binary: false, compress }, compress ? this.#onCompressed : this.#onSent);
		this.#closeIfStuck();
	}

	/**
	 * Sends a session record. It includes the newest state, so it replaces a delayed report.
	 * @param frame made by `textFrame`
	 */
	sendChange(sessionId: string, frame: Buffer): void {
		const { socket, stream } = this.#options;
		this.#delayedReports.delete(sessionId);
		if (this.#compressing > 0) return this.send(payloadOf(frame));
		if (socket.readyState !== socket.OPEN) return;
		stream.write(frame, this.#onSent);
		this.#closeIfStuck();
	}

	/** Sends an uplink. To a slow monitor, only the newest state report of each session is sent, later. */
	relay(sessionId: string, frame: Buffer, isStateReport: boolean): void {
		if (!this.#hasUnsentAbove(this.#options.limits.slowMonitorBytes)) this.sendChange(sessionId, frame);
		else if (isStateReport) this.#delayedReports.set(sessionId, frame);
	}

	/** Sends a change of the summary, or marks the summary as missed if the monitor is slow. */
	sendSummary(frame: Buffer): void {
		if (this.#hasUnsentAbove(this.#options.limits.slowMonitorBytes)) this.#hasMissedSummary = true;
		else this.send(frame, true);
	}

	close(code: number, reason: string): void {
		this.#options.socket.close(code, reason);
	}

	#closeIfStuck(): void {
		if (!this.#hasUnsentAbove(this.#options.limits.stuckMonitorBytes)) return;
		this.#delayedReports.clear();
		this.#options.socket.close(closeCodes.tryAgainLater, "reading too slowly");
	}

	readonly #onCompressed = (): void => {
		this.#compressing -= 1;
		this.#onSent();
	};

	/** Sends delayed frames once the monitor has caught up. */
	readonly #onSent = (): void => {
		for (const [sessionId, frame] of this.#delayedReports) {
			if (this.#hasUnsentAbove(this.#options.limits.slowMonitorBytes)) return;
			this.sendChange(sessionId, frame);
		}
		if (this.#snapshot || this.#hasMissedSummary) void this.#continueSnapshot();
	};

	async #continueSnapshot(): Promise<void> {
		if (this.#isSnapshotScheduled || !this.#canSendSnapshot()) return;
		this.#isSnapshotScheduled = true;
		await this.#options.yieldToLoop();
		this.#isSnapshotScheduled = false;
		// If not, #onSent calls this function again.
		if (!this.#canSendSnapshot()) return;
		if (this.#hasMissedSummary && this.summary) this.sendSnapshot(this.summary.snapshot());
		else this.#sendNextSnapshotFrame();
	}

	/** Whether a snapshot frame would neither make the monitor slow nor overtake a delayed report. */
	#canSendSnapshot(): boolean {
		return this.#delayedReports.size === 0 && this.unsentBytes <= this.#options.limits.slowMonitorBytes / 2;
	}

	#sendNextSnapshotFrame(): void {
		const { socket } = this.#options;
		const next = socket.readyState === socket.OPEN ? this.#snapshot?.next() : undefined;
		if (next && !next.done) this.send(Buffer.from(next.value), true);
		else this.#snapshot = undefined;
	}

	/** Returns whether more than `limit` bytes are queued, after flushing corked frames. */
	#hasUnsentAbove(limit: number): boolean {
		const { stream } = this.#options;
		if (this.unsentBytes <= limit) return false;
		if (stream.writableCorked > 0) {
			stream.uncork();
			stream.cork();
		}
		return this.unsentBytes > limit;
	}
}

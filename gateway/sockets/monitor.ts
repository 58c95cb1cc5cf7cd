/**
 * Socket of a monitor with back-pressure: a browser on a slow connection reads less than a fleet sends, and its backlog
 * must not exhaust the memory.
 */

import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { Person } from "../api/person.js";
import { closeCodes, type SocketLimits } from "../limits.js";
import type { Session } from "../sessions/device.js";
import { payloadOf } from "./text-frame.js";

/** A ping whose answer says that the snapshot has arrived. */
const afterSnapshot = Buffer.from("snapshot");

export interface MonitorOptions {
	readonly socket: WebSocket;
	/** The connection under the socket. */
	readonly stream: Duplex;
	/** Person and address of the client. */
	readonly client: { readonly person: Person; readonly remoteAddress: string };
	readonly limits: Pick<SocketLimits, "slowMonitorBytes" | "stuckMonitorBytes" | "firstPictureMs">;
	/** Monotonic, in milliseconds. */
	readonly monotonic: () => number;
	/** Awaited before further frames of a snapshot. */
	readonly yieldToLoop: () => Promise<void>;
}

export class Monitor {
	/** Ids of devices whose changes and uplinks it gets; undefined: of all, named or not. */
	devices: ReadonlySet<string> | undefined;
	/** Set if it has subscribed to the summary in place of all sessions. */
	summary: { snapshot(): Iterator<string> } | undefined;
	readonly #options: MonitorOptions;
	/** Reports that the monitor was too slow for, by session id. */
	readonly #waiting = new Map<string, Buffer>();
	/** Frames that `ws` compresses: it sends what it is given meanwhile after them. */
	#compressing = 0;
	/** The rest of the snapshot. */
	#snapshot: Iterator<string> | undefined;
	#isSnapshotPlanned = false;
	#snapshotFrames = 0;
	/** When the snapshot began, on the monotonic clock; undefined: all of it has arrived. */
	#loadingSince: number | undefined;
	/** It missed a change of the summary, and gets the whole one again. */
	#isBehind = false;

	constructor(options: MonitorOptions) {
		this.#options = options;
		options.socket.on("pong", (data) => {
			if (data.equals(afterSnapshot)) this.#loadingSince = undefined;
		});
	}

	/** Whether its snapshot is still on its way, so that it cannot answer pings in time. */
	get isLoading(): boolean {
		const { monotonic, limits } = this.#options;
		return this.#loadingSince !== undefined && monotonic() - this.#loadingSince < limits.firstPictureMs;
	}

	get client(): MonitorOptions["client"] {
		return this.#options.client;
	}

	/** In bytes. */
	get unread(): number {
		return this.#options.socket.bufferedAmount;
	}

	/** Collects frames for one system call. */
	cork(): void {
		this.#options.stream.cork();
	}

	uncork(): void {
		this.#options.stream.uncork();
	}

	wants({ device }: Session): boolean {
		if (!this.devices) return true;
		// The summary lists only sessions of known devices.
		return device ? this.devices.has(device.deviceId) : this.summary !== undefined;
	}

	/**
	 * Sends all session records or the whole summary, each further frame when the monitor has read most of the
	 * previous ones.
	 */
	sendSnapshot(frames: Iterator<string>): void {
		this.#waiting.clear();
		this.#isBehind = false;
		this.#snapshot = frames;
		this.#snapshotFrames = 0;
		this.#loadingSince = this.#options.monotonic();
		this.#sendNextOfSnapshot();
	}

	/**
	 * Sends a text that must not be dropped.
	 * @param compress if the monitor offers it; not for reports, of which many monitors get each: it would be compressed for each
	 */
	send(text: Buffer, compress = false): void {
		const { socket } = this.#options;
		if (socket.readyState !== socket.OPEN) return;
		if (compress) this.#compressing += 1;
		socket.send(text, { binary: false, compress }, compress ? this.#onCompressed : this.#onSent);
		this.#closeIfStuck();
	}

	/**
	 * The record includes the newest state and replaces a waiting report.
	 * @param frame see text-frame.ts
	 */
	sendChange(sessionId: string, frame: Buffer): void {
		const { socket, stream } = this.#options;
		this.#waiting.delete(sessionId);
		if (this.#compressing > 0) return this.send(payloadOf(frame));
		if (socket.readyState !== socket.OPEN) return;
		stream.write(frame, this.#onSent);
		this.#closeIfStuck();
	}

	/** A slow monitor gets only each session's newest state report, later. */
	relay(sessionId: string, frame: Buffer, isStateReport: boolean): void {
		if (!this.#hasMoreThan(this.#options.limits.slowMonitorBytes)) this.sendChange(sessionId, frame);
		else if (isStateReport) this.#waiting.set(sessionId, frame);
	}

	/** A change of the summary. */
	sendSummary(frame: Buffer): void {
		if (this.#hasMoreThan(this.#options.limits.slowMonitorBytes)) this.#isBehind = true;
		else this.send(frame, true);
	}

	close(code: number, reason: string): void {
		this.#options.socket.close(code, reason);
	}

	#closeIfStuck(): void {
		if (!this.#hasMoreThan(this.#options.limits.stuckMonitorBytes)) return;
		this.#waiting.clear();
		this.#options.socket.close(closeCodes.tryAgainLater, "reads too slowly");
	}

	readonly #onCompressed = (): void => {
		this.#compressing -= 1;
		this.#onSent();
	};

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
		// Otherwise #onSent calls this again.
		if (!this.#mayTakeSnapshot()) return;
		if (this.#isBehind && this.summary) this.sendSnapshot(this.summary.snapshot());
		else this.#sendNextOfSnapshot();
	}

	/** A snapshot must neither make a monitor slow nor overtake a waiting report. */
	#mayTakeSnapshot(): boolean {
		return this.#waiting.size === 0 && this.unread <= this.#options.limits.slowMonitorBytes / 2;
	}

	#sendNextOfSnapshot(): void {
		const { socket } = this.#options;
		const next = socket.readyState === socket.OPEN ? this.#snapshot?.next() : undefined;
		if (next && !next.done) {
			this.#snapshotFrames += 1;
			return this.send(Buffer.from(next.value), true);
		}
		this.#snapshot = undefined;
		// A single frame is soon read.
		if (this.#snapshotFrames <= 1) this.#loadingSince = undefined;
		else if (socket.readyState === socket.OPEN) socket.ping(afterSnapshot);
	}

	/** Whether more bytes are unread, after sending what is corked. */
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

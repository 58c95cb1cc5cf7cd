/**
 * The gateway's end of `/monitor`: every monitor is told of every change and every uplink, and each of its commands gets
 * one answer. A frame is built once, whatever the number of monitors, and not at all where there is none.
 */

import type { Duplex } from "node:stream";
import type { Logger } from "pino";
import type { RawData, WebSocket } from "ws";
import type { Session } from "../sessions/device.js";
import type { Sessions } from "../sessions/sessions.js";
import { type ChangeReason, deviceMessageText, statusUpdateText } from "../sessions/view.js";
import type { Metrics } from "../telemetry/metrics.js";
import { parseJson } from "./device-sockets.js";
import type { Heartbeat } from "./heartbeat.js";
import { closeCodes, type SocketLimits } from "./limits.js";
import { Monitor } from "./monitor.js";
import type { Outcome } from "./monitor-commands.js";
import { refuse, requestIdOf } from "./monitor-messages.js";
import { Brake, TokenBucket } from "./rates.js";

export interface MonitorSocketsOptions {
	readonly sessions: Sessions;
	readonly execute: (value: unknown) => Promise<Outcome>;
	readonly heartbeat: Heartbeat;
	readonly limits: SocketLimits;
	readonly metrics: Metrics;
	readonly log: Logger;
	/** Milliseconds since 1970. */
	readonly now: () => number;
}

export class MonitorSockets {
	readonly #options: MonitorSocketsOptions;
	readonly #monitors = new Map<WebSocket, Monitor>();
	#announcing: NodeJS.Timeout | undefined;
	#isCorked = false;

	constructor(options: MonitorSocketsOptions) {
		this.#options = options;
	}

	/** Bytes that monitors have not read yet. */
	get backlog(): number {
		let bytes = 0;
		for (const monitor of this.#monitors.values()) bytes += monitor.unread;
		return bytes;
	}

	/** Monitors that are connected. */
	get size(): number {
		return this.#monitors.size;
	}

	/**
	 * Takes on a socket whose upgrade has been checked, and sends it the snapshot.
	 *
	 * @param batchMs undefined: each frame on its own, as soon as it is there
	 */
	accept(socket: WebSocket, stream: Duplex, remoteAddress: string, batchMs?: number): void {
		const { sessions, heartbeat, limits, log, now } = this.#options;
		const monitor = new Monitor({ socket, stream, limits, batchMs });
		const bucket = new TokenBucket({ perSecond: limits.commandsASecond, burst: limits.commandBurst, now });
		const brake = new Brake({ socket, perSecond: limits.commandsASecond, maxMs: limits.brakeMs });
		this.#monitors.set(socket, monitor);
		heartbeat.watch(socket);
		log.info({ remoteAddress, monitors: this.size }, "monitor connected");
		socket.on("message", (data, isBinary) => {
			if (socket.readyState !== socket.OPEN) return;
			if (isBinary) return socket.close(closeCodes.unsupportedData, "text frames only");
			const isTooMuch = !bucket.take();
			if (isTooMuch) brake.apply();
			this.#cork();
			this.#answer(data, isTooMuch)
				.then((text) => monitor.send(text))
				.catch((error) => log.error({ err: error }, "a monitor's message could not be carried out"));
		});
		socket.on("error", (error) =>
			log.warn({ remoteAddress, problem: error.message }, "monitor socket failed"),
		);
		socket.on("close", (code) => {
			this.#monitors.delete(socket);
			log.info({ remoteAddress, code, monitors: this.size }, "monitor disconnected");
		});
		monitor.sendSnapshot(Buffer.from(statusUpdateText("snapshot", sessions.list(), now())));
	}

	/** Tells every monitor of all sessions anew, soon: some are gone of which no change tells. */
	announceAll(): void {
		this.#announcing ??= setTimeout(() => {
			this.#announcing = undefined;
			const { sessions, now } = this.#options;
			const frame = Buffer.from(statusUpdateText("snapshot", sessions.list(), now()));
			for (const monitor of this.#monitors.values()) monitor.sendSnapshot(frame);
		}, this.#options.limits.snapshotPauseMs).unref();
	}

	/** Tells every monitor that a session changed. */
	announce(session: Session, reason: ChangeReason): void {
		if (this.#monitors.size === 0) return;
		this.#cork();
		const frame = Buffer.from(statusUpdateText(reason, [session], this.#options.now()));
		for (const monitor of this.#monitors.values()) monitor.sendChange(session.sessionId, frame);
	}

	/** Passes an uplink on to every monitor, as it came. */
	relay(session: Session, text: string, isStateReport: boolean): void {
		if (this.#monitors.size === 0) return;
		this.#cork();
		const frame = Buffer.from(deviceMessageText(session, text));
		for (const monitor of this.#monitors.values()) monitor.relay(session.sessionId, frame, isStateReport);
	}

	/** Closes every socket with 1001. */
	close(): void {
		clearTimeout(this.#announcing);
		for (const monitor of this.#monitors.values()) monitor.close(closeCodes.goingAway, "the gateway stops");
	}

	/** All that is sent in one turn of the event loop is written at once, to each monitor: a call of the system costs most. */
	#cork(): void {
		if (this.#isCorked) return;
		this.#isCorked = true;
		for (const monitor of this.#monitors.values()) monitor.cork();
		setImmediate(() => {
			this.#isCorked = false;
			for (const monitor of this.#monitors.values()) monitor.uncork();
		});
	}

	async #answer(data: RawData, isTooMuch: boolean): Promise<string> {
		const { commandsASecond } = this.#options.limits;
		const value = parseJson(data.toString());
		const outcome: Outcome = isTooMuch
			? refuse("rate_limited", `send at most ${commandsASecond} messages a second`)
			: value === undefined
				? refuse("invalid_json", "a message must be JSON")
				: await this.#options.execute(value);
		const requestId = requestIdOf(value);
		const { refusal } = outcome;
		const { metrics } = this.#options;
		if (outcome.refusal) metrics.refusedCommands.inc({ code: outcome.refusal.code });
		else metrics.commands.inc({ type: outcome.command });
		return JSON.stringify(
			refusal ? { type: "error", requestId, ...refusal } : { type: "ack", requestId, ...outcome },
		);
	}
}

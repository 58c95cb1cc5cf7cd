/**
 * The gateway's end of `/monitor`: every monitor gets every change and uplink, and one answer to each message. A
 * frame is built once for all.
 */

import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { limitMessagesAfterClose, TokenBucket, watchControlFrames } from "../rates.js";
import type { Session } from "../sessions/device.js";
import { type ChangeReason, deviceMessageText, snapshotTexts, statusUpdateText } from "../sessions/view.js";
import { parseJson } from "./device-sockets.js";
import type { SocketsOptions } from "./limits.js";
import { closeCodes } from "./limits.js";
import { Monitor } from "./monitor.js";
import type { Outcome } from "./monitor-commands.js";
import { refuse, requestIdOf } from "./monitor-commands.js";

export interface MonitorSocketsOptions extends SocketsOptions {
	/** Executes a parsed message; undefined stands for invalid JSON. */
	readonly execute: (value: unknown) => Promise<Outcome>;
}

export class MonitorSockets {
	readonly #options: MonitorSocketsOptions;
	readonly #monitors = new Set<Monitor>();
	#announcing: NodeJS.Timeout | undefined;
	#isCorked = false;

	constructor(options: MonitorSocketsOptions) {
		this.#options = options;
		const { watch } = options.metrics;
		const unread = () => [...this.#monitors].reduce((bytes, monitor) => bytes + monitor.unread, 0);
		watch("gateway_monitors", "Monitors that are connected", () => this.#monitors.size);
		watch("gateway_monitor_queue_bytes", "Bytes that monitors have not read yet", unread);
	}

	/**
	 * Adds a socket after its upgrade was checked, and sends it the snapshot.
	 * @param stream the connection under the socket
	 */
	accept(socket: WebSocket, stream: Duplex, remoteAddress: string): void {
		const { limits, log, monotonic, yieldToLoop } = this.#options;
		const { commandsASecond, commandBurst, refusalsASecond, refusalBurst } = limits;
		const { controlFramesASecond, controlFrameBurst } = limits;
		const bucket = new TokenBucket({ perSecond: commandsASecond, burst: commandBurst, monotonic });
		const refusals = new TokenBucket({ perSecond: refusalsASecond, burst: refusalBurst, monotonic });
		const onMessageAfterClose = limitMessagesAfterClose(socket, limits.messagesAfterClose);
		const monitor = new Monitor({ socket, stream, limits, yieldToLoop });
		this.#monitors.add(monitor);
		log.info({ remoteAddress, monitors: this.#monitors.size }, "monitor connected");
		socket.on("message", (data, isBinary) => {
			if (socket.readyState !== socket.OPEN) return onMessageAfterClose();
			if (isBinary) return socket.close(closeCodes.unsupportedData, "text frames only");
			const isTooMuch = !bucket.take();
			if (isTooMuch && !refusals.take())
				return monitor.close(closeCodes.policyViolation, "too many messages");
			this.#cork();
			this.#answer(data.toString(), isTooMuch)
				.then((text) => monitor.send(Buffer.from(text)))
				.catch((error) => log.error({ err: error }, "a monitor's message could not be carried out"));
		});
		const controlRate = { perSecond: controlFramesASecond, burst: controlFrameBurst, monotonic };
		watchControlFrames(socket, controlRate, () => {
			if (socket.readyState !== socket.OPEN) return onMessageAfterClose();
			monitor.close(closeCodes.policyViolation, "too many ping or pong frames");
		});
		socket.on("error", ({ message: problem }) =>
			log.warn({ remoteAddress, problem }, "monitor socket failed"),
		);
		socket.on("close", (code) => {
			this.#monitors.delete(monitor);
			log.info({ remoteAddress, code, monitors: this.#monitors.size }, "monitor disconnected");
		});
		monitor.sendSnapshot(this.#snapshot());
	}

	/** Sends every monitor a snapshot, as no message reports a forgotten device. */
	announceAll(): void {
		const { limits, yieldToLoop } = this.#options;
		this.#announcing ??= setTimeout(async () => {
			this.#announcing = undefined;
			for (const monitor of [...this.#monitors]) {
				await yieldToLoop();
				monitor.sendSnapshot(this.#snapshot());
			}
		}, limits.snapshotPauseMs).unref();
	}

	announce(session: Session, reason: ChangeReason): void {
		if (this.#monitors.size === 0) return;
		this.#cork();
		const frame = Buffer.from(statusUpdateText(reason, session, this.#options.now()));
		for (const monitor of this.#monitors) monitor.sendChange(session.sessionId, frame);
	}

	relay(session: Session, text: string, isStateReport: boolean): void {
		if (this.#monitors.size === 0) return;
		this.#cork();
		const frame = Buffer.from(deviceMessageText(session, text));
		for (const monitor of this.#monitors) monitor.relay(session.sessionId, frame, isStateReport);
	}

	/** Closes every socket with 1001. */
	close(): void {
		clearTimeout(this.#announcing);
		for (const monitor of this.#monitors) monitor.close(closeCodes.goingAway, "the gateway stops");
	}

	#snapshot(): Generator<string> {
		const { sessions, now } = this.#options;
		return snapshotTexts(sessions, now);
	}

	/** Writes the frames of one turn of the event loop together, as system calls cost most. */
	#cork(): void {
		if (this.#isCorked) return;
		this.#isCorked = true;
		const startedAt = performance.now();
		for (const monitor of this.#monitors) monitor.cork();
		setImmediate(() => {
			this.#isCorked = false;
			for (const monitor of this.#monitors) monitor.uncork();
			this.#options.metrics.relay.observe((performance.now() - startedAt) / 1000);
		});
	}

	async #answer(text: string, isTooMuch: boolean): Promise<string> {
		const { limits, metrics, execute } = this.#options;
		const value = parseJson(text);
		const outcome: Outcome = isTooMuch
			? refuse("rate_limited", `send at most ${limits.commandsASecond} messages a second`)
			: await execute(value);
		const requestId = requestIdOf(value);
		if (outcome.refusal) {
			metrics.refusedCommands.inc({ code: outcome.refusal.code });
			return JSON.stringify({ type: "error", requestId, ...outcome.refusal });
		}
		metrics.commands.inc({ type: outcome.command });
		return JSON.stringify({ type: "ack", requestId, ...outcome });
	}
}

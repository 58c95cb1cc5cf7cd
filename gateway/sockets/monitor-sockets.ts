/**
 * The gateway's end of `/monitor`: every monitor gets every change and uplink, or what it subscribed to, and one answer
 * to each message. A frame is built once for all.
 */

import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { limitMessagesAfterClose, TokenBucket, watchControlFrames } from "../rates.js";
import type { Device, Session } from "../sessions/device.js";
import { type ChangeReason, deviceMessageText, snapshotTexts, statusUpdateText } from "../sessions/view.js";
import { parseJson } from "./device-sockets.js";
import type { SocketsOptions } from "./limits.js";
import { closeCodes } from "./limits.js";
import { Monitor } from "./monitor.js";
import type { Outcome, Subscribe } from "./monitor-commands.js";
import { refuse, requestIdOf } from "./monitor-commands.js";
import { Summary } from "./summary.js";

export interface MonitorSocketsOptions extends SocketsOptions {
	/** Executes a parsed message; undefined stands for invalid JSON. */
	readonly execute: (value: unknown, subscribe: Subscribe) => Promise<Outcome>;
	/** A frame for each active roll-out. */
	readonly rollouts: () => readonly string[];
}

export class MonitorSockets {
	readonly #options: MonitorSocketsOptions;
	readonly #monitors = new Set<Monitor>();
	/** Undefined while no monitor subscribes to it: then it costs nothing. */
	#summary: Summary | undefined;
	/** Those that asked for roll-outs: others may not know `rollout_update`. */
	readonly #rolloutMonitors = new Set<Monitor>();
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
	 * @param wantsRollouts it also gets `rollout_update`
	 */
	accept(socket: WebSocket, stream: Duplex, remoteAddress: string, wantsRollouts: boolean): void {
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
			this.#answer(monitor, data.toString(), isTooMuch)
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
			this.#dropSummary();
			this.#rolloutMonitors.delete(monitor);
			log.info({ remoteAddress, code, monitors: this.#monitors.size }, "monitor disconnected");
		});
		monitor.sendSnapshot(this.#snapshot());
		if (!wantsRollouts) return;
		this.#rolloutMonitors.add(monitor);
		for (const text of this.#options.rollouts()) monitor.send(Buffer.from(text));
	}

	announceRollout(text: string): void {
		const frame = Buffer.from(text);
		for (const monitor of this.#rolloutMonitors) monitor.send(frame);
	}

	/** Sends monitors a snapshot, as no message reports a forgotten device; the summary does. */
	announceAll(): void {
		const { limits, yieldToLoop } = this.#options;
		this.#announcing ??= setTimeout(async () => {
			this.#announcing = undefined;
			for (const monitor of [...this.#monitors]) {
				await yieldToLoop();
				if (!monitor.devices) monitor.sendSnapshot(this.#snapshot());
			}
		}, limits.snapshotPauseMs).unref();
	}

	announce(session: Session, reason: ChangeReason): void {
		this.touch(session.device);
		this.#sendAbout(
			session,
			() => statusUpdateText(reason, session, this.#options.now()),
			(monitor, frame) => monitor.sendChange(session.sessionId, frame),
		);
	}

	relay(session: Session, text: string, isStateReport: boolean): void {
		this.touch(session.device);
		this.#sendAbout(
			session,
			() => deviceMessageText(session, text),
			(monitor, frame) => monitor.relay(session.sessionId, frame, isStateReport),
		);
	}

	/** The summary of a device may have changed, or the device was forgotten. */
	touch(device: Device | undefined): void {
		if (device) this.#summary?.touch(device.deviceId);
	}

	/** Closes every socket with 1001. */
	close(): void {
		clearTimeout(this.#announcing);
		this.#summary?.close();
		for (const monitor of this.#monitors) monitor.close(closeCodes.goingAway, "the gateway stops");
	}

	#sendAbout(session: Session, format: () => string, send: (monitor: Monitor, frame: Buffer) => void): void {
		let frame: Buffer | undefined;
		for (const monitor of this.#monitors) {
			if (!monitor.wants(session)) continue;
			this.#cork();
			frame ??= Buffer.from(format());
			send(monitor, frame);
		}
	}

	#subscribe(monitor: Monitor, hasSummary: boolean, ids: readonly string[]): void {
		const { sessions, now } = this.#options;
		const previous = monitor.devices;
		const isOther = previous === undefined || hasSummary !== (monitor.summary !== undefined);
		monitor.devices = new Set(ids);
		if (isOther) {
			monitor.summary = hasSummary ? this.#openSummary() : undefined;
			this.#dropSummary();
			// In place of what is left of the previous one.
			monitor.sendSnapshot(monitor.summary?.snapshot() ?? [].values());
		}
		const send = (session: Session, reason: ChangeReason) =>
			monitor.sendChange(session.sessionId, Buffer.from(statusUpdateText(reason, session, now())));
		if (isOther && hasSummary)
			for (const session of sessions.list()) if (!session.device) send(session, "connected");
		for (const id of monitor.devices) {
			const session = sessions.devices.get(id)?.session;
			if (session && (isOther || !previous.has(id))) send(session, "identified");
		}
	}

	#openSummary(): Summary {
		const { sessions, now, limits } = this.#options;
		this.#summary ??= new Summary({
			devices: sessions.devices,
			now,
			pauseMs: limits.summaryPauseMs,
			onFrame: (frame) => {
				this.#cork();
				for (const monitor of this.#monitors) if (monitor.summary) monitor.sendSummary(frame);
			},
		});
		return this.#summary;
	}

	/** Once no one subscribes to it any more. */
	#dropSummary(): void {
		for (const { summary } of this.#monitors) if (summary) return;
		this.#summary?.close();
		this.#summary = undefined;
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

	async #answer(monitor: Monitor, text: string, isTooMuch: boolean): Promise<string> {
		const { limits, metrics, execute } = this.#options;
		const value = parseJson(text);
		const outcome: Outcome = isTooMuch
			? refuse("rate_limited", `send at most ${limits.commandsASecond} messages a second`)
			: await execute(value, (summary, devices) => this.#subscribe(monitor, summary, devices));
		const requestId = requestIdOf(value);
		if (outcome.refusal) {
			metrics.refusedCommands.inc({ code: outcome.refusal.code });
			return JSON.stringify({ type: "error", requestId, ...outcome.refusal });
		}
		metrics.commands.inc({ type: outcome.command });
		return JSON.stringify({ type: "ack", requestId, ...outcome });
	}
}

/**
 * The gateway's end of `/monitor`: every monitor gets every change and uplink, or what it subscribed to, and one answer
 * to each message. A frame is built once for all.
 */

import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { Cluster } from "../cluster/cluster.js";
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
	readonly cluster?: Pick<Cluster, "onInterest" | "gather" | "frame"> | undefined;
}

/** What a monitor asks for in its address: others may not know these frames. */
export interface Wants {
	/** `rollout_update`. */
	readonly rollouts: boolean | undefined;
	/** `cluster_update`. */
	readonly cluster: boolean | undefined;
}

/** To other gateways; more are all. */
const devicesNamedAtMost = 5_000;

export class MonitorSockets {
	readonly #options: MonitorSocketsOptions;
	readonly #monitors = new Set<Monitor>();
	/** Undefined while no monitor subscribes to it: then it costs nothing. */
	#summary: Summary | undefined;
	readonly #rolloutMonitors = new Set<Monitor>();
	readonly #clusterMonitors = new Set<Monitor>();
	/** Those that wait for their snapshot, and whether reports are gathered for it. */
	readonly #waiting = new Map<Monitor, boolean>();
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
	accept(socket: WebSocket, stream: Duplex, remoteAddress: string, wants: Wants): void {
		const { limits, log, monotonic, yieldToLoop } = this.#options;
		const { commandsASecond, commandBurst, refusalsASecond, refusalBurst } = limits;
		const { controlFramesASecond, controlFrameBurst, summariesASecond, summaryBurst } = limits;
		const bucket = new TokenBucket({ perSecond: commandsASecond, burst: commandBurst, monotonic });
		const refusals = new TokenBucket({ perSecond: refusalsASecond, burst: refusalBurst, monotonic });
		const onMessageAfterClose = limitMessagesAfterClose(socket, limits.messagesAfterClose);
		const summaries = new TokenBucket({ perSecond: summariesASecond, burst: summaryBurst, monotonic });
		const monitor = new Monitor({ socket, stream, limits, summaries, yieldToLoop });
		this.#monitors.add(monitor);
		log.info({ remoteAddress, monitors: this.#monitors.size }, "monitor connected");
		socket.on("message", (data, isBinary) => {
			if (socket.readyState !== socket.OPEN) return onMessageAfterClose();
			if (isBinary) return socket.close(closeCodes.unsupportedData, "text frames only");
			const isTooMuch = !bucket.take();
			if (isTooMuch && !refusals.take())
				return monitor.close(closeCodes.policyViolation, "too many messages");
			this.#begin(monitor, wants);
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
			this.#clusterMonitors.delete(monitor);
			this.#waiting.delete(monitor);
			this.#options.cluster?.onInterest();
			log.info({ remoteAddress, code, monitors: this.#monitors.size }, "monitor disconnected");
		});
		this.#waiting.set(monitor, false);
		if (this.#options.cluster) void this.#gather(monitor, this.#options.cluster, wants);
		else this.#begin(monitor, wants);
	}

	/** Gets the reports of other gateways' devices before the snapshot, unless the monitor subscribes at once. */
	async #gather(monitor: Monitor, cluster: Pick<Cluster, "gather">, wants: Wants): Promise<void> {
		monitor.devices = new Set();
		await new Promise((resolve) => setTimeout(resolve, this.#options.limits.subscribeMs));
		if (!this.#waiting.has(monitor)) return;
		this.#waiting.set(monitor, true);
		await cluster.gather();
		this.#begin(monitor, wants);
	}

	/** Sends what a monitor starts with, unless it has been sent. */
	#begin(monitor: Monitor, wants: Wants): void {
		const { cluster, rollouts } = this.#options;
		if (!this.#waiting.delete(monitor)) return;
		monitor.devices = undefined;
		monitor.sendSnapshot(this.#snapshot());
		if (wants.rollouts) {
			this.#rolloutMonitors.add(monitor);
			for (const text of rollouts()) monitor.send(Buffer.from(text));
		}
		if (!wants.cluster || !cluster) return;
		this.#clusterMonitors.add(monitor);
		monitor.send(Buffer.from(cluster.frame()));
	}

	/** What the monitors need. */
	interest() {
		const devices = new Set<string>();
		let all = false;
		let summary = false;
		for (const monitor of this.#monitors) {
			all ||= monitor.devices === undefined || this.#waiting.get(monitor) === true;
			summary ||= monitor.summary !== undefined;
			for (const id of monitor.devices ?? []) devices.add(id);
		}
		all ||= devices.size > devicesNamedAtMost;
		return { all, summary, devices: all ? [] : [...devices] };
	}

	announceCluster(text: string): void {
		const frame = Buffer.from(text);
		for (const monitor of this.#clusterMonitors) monitor.send(frame);
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

	#subscribe(monitor: Monitor, hasSummary: boolean, ids: readonly string[]): ReturnType<Subscribe> {
		const { sessions, now, cluster, limits } = this.#options;
		const previous = monitor.devices;
		const isOther = previous === undefined || hasSummary !== (monitor.summary !== undefined);
		if (isOther && hasSummary && !monitor.summaries.take())
			return refuse("rate_limited", `switch the summary on at most ${limits.summariesASecond} time a second`);
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
		const distant: string[] = [];
		const tell = (id: string) => {
			const session = sessions.devices.get(id)?.session;
			if (session && monitor.devices?.has(id)) send(session, "identified");
		};
		for (const id of monitor.devices) {
			if (!isOther && previous.has(id)) continue;
			if (sessions.devices.get(id)?.session.link.gateway === undefined) tell(id);
			else distant.push(id);
		}
		cluster?.onInterest();
		if (!cluster || distant.length === 0) return undefined;
		return cluster.gather(distant).then(() => {
			distant.forEach(tell);
			return undefined;
		});
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

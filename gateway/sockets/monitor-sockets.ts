/**
 * The gateway's end of `/monitor`: a monitor gets every change and uplink, or those it subscribed to, and one answer
 * to each message. A frame is built once for all.
 */

import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { TokenBucket } from "../access/rates.js";
import { type ChangeReason, frameText } from "../api/frames.js";
import { parseJson } from "../api/json.js";
import type { Base } from "../base.js";
import { closeCodes } from "../limits.js";
import type { Session } from "../sessions/device.js";
import type { SessionListener } from "../sessions/sessions.js";
import { deviceMessageHead, snapshotTexts, statusUpdateText } from "../sessions/view.js";
import { Monitor } from "./monitor.js";
import { type Execute, refuse, requestIdOf } from "./monitor-commands.js";
import type { SocketsOptions } from "./options.js";
import { textFrame } from "./text-frame.js";

export interface MonitorHooks {
	/** By the names by which monitors ask for them, as query parameters of their address. */
	readonly channels?: Readonly<Record<string, Channel>>;
}

/** Makes the first frames, and MonitorSockets.broadcast sends later ones; or what a monitor gets in place of all sessions. */
export type Channel = (() => readonly string[]) | { readonly sendPicture: (monitor: Monitor) => void };

/** Subscription of a monitor; see Monitor. */
export type MonitorNeeds = Pick<Monitor, "devices" | "summary">;

export interface MonitorSocketsOptions extends SocketsOptions {
	readonly execute: Execute;
	readonly hooks: readonly MonitorHooks[];
	readonly peers: Base["peers"];
}

export class MonitorSockets {
	readonly #options: MonitorSocketsOptions;
	/** Channels of each monitor. */
	readonly #monitors = new Map<Monitor, ReadonlySet<string>>();
	/** Subscriptions of other parts of this gateway. */
	readonly #needs = new Set<MonitorNeeds>();
	/** Monitors that wait for their snapshot. */
	readonly #waiting = new Set<Monitor>();
	#announcing: NodeJS.Timeout | undefined;
	#isCorked = false;
	/** On the clock of `performance`. */
	#corkedAt = 0;
	#flushedAt = 0;

	readonly sessions: SessionListener = {
		onChanged: (session, reason) => this.announce(session, reason),
		onUplink: (session, { type }, text) => this.relay(session, text, type === "state_report"),
		onRelayed: (...uplink) => this.relay(...uplink),
		onForgotten: (_device, why) => {
			if (why === "removed") this.announceAll();
		},
	};

	constructor(options: MonitorSocketsOptions) {
		this.#options = options;
		const { watch } = options.metrics;
		const unread = () => [...this.#monitors.keys()].reduce((bytes, monitor) => bytes + monitor.unread, 0);
		watch("gateway_monitors", "Monitors that are connected", () => this.#monitors.size);
		watch("gateway_monitor_queue_bytes", "Bytes that monitors have not read yet", unread);
	}

	/**
	 * Adds a socket after its upgrade was checked, and sends the snapshot.
	 * @param stream the connection under the socket
	 * @param channels see MonitorHooks; unknown ones have no effect
	 */
	accept(
		socket: WebSocket,
		stream: Duplex,
		client: Monitor["client"],
		channels: ReadonlySet<string>,
	): Monitor {
		const { remoteAddress } = client;
		const { limits, log, monotonic, yieldToLoop } = this.#options;
		const { commandsASecond, commandBurst, refusalsASecond, refusalBurst } = limits;
		const { controlFramesASecond, controlFrameBurst } = limits;
		const bucket = new TokenBucket({ perSecond: commandsASecond, burst: commandBurst, monotonic });
		const refusals = new TokenBucket({ perSecond: refusalsASecond, burst: refusalBurst, monotonic });
		const monitor = new Monitor({ socket, stream, client, limits, monotonic, yieldToLoop });
		this.#monitors.set(monitor, channels);
		log.info({ remoteAddress, monitors: this.#monitors.size }, "monitor connected");
		socket.on("message", (data, isBinary) => {
			if (socket.readyState !== socket.OPEN) return;
			if (isBinary) return socket.close(closeCodes.unsupportedData, "text frames only");
			const isTooMuch = !bucket.take();
			if (isTooMuch && !refusals.take())
				return monitor.close(closeCodes.policyViolation, "too many messages");
			this.#begin(monitor);
			this.cork();
			this.#answer(monitor, data.toString(), isTooMuch)
				.then((text) => monitor.send(Buffer.from(text)))
				.catch((error) => log.error({ err: error }, "a monitor's message could not be carried out"));
		});
		const controlRate = { perSecond: controlFramesASecond, burst: controlFrameBurst, monotonic };
		const controlFrames = new TokenBucket(controlRate);
		const onControlFrame = () => {
			if (!controlFrames.take()) monitor.close(closeCodes.policyViolation, "too many ping or pong frames");
		};
		socket.on("ping", onControlFrame).on("pong", onControlFrame);
		socket.on("error", ({ message: problem }) =>
			log.warn({ remoteAddress, problem }, "monitor socket failed"),
		);
		socket.on("close", (code) => {
			this.#monitors.delete(monitor);
			this.#waiting.delete(monitor);
			this.changed();
			log.info({ remoteAddress, code, monitors: this.#monitors.size }, "monitor disconnected");
		});
		this.#waiting.add(monitor);
		const { fetchReportsFor } = this.#options.peers;
		const hasPicture = this.#channelsOf(monitor).some((channel) => typeof channel === "object");
		if (hasPicture || !fetchReportsFor) this.#begin(monitor);
		else {
			monitor.devices = new Set();
			const isWaiting = () => this.#waiting.has(monitor);
			void fetchReportsFor(isWaiting, () => this.#begin(monitor));
		}
		return monitor;
	}

	/** Those that it has asked for. */
	#channelsOf(monitor: Monitor): readonly Channel[] {
		const names = this.#monitors.get(monitor);
		const channels = this.#options.hooks.flatMap(({ channels = {} }) => Object.entries(channels));
		return channels.flatMap(([name, channel]) => (names?.has(name) ? [channel] : []));
	}

	/** Sends the first frames, once. */
	#begin(monitor: Monitor): void {
		if (!this.#waiting.delete(monitor)) return;
		const channels = this.#channelsOf(monitor);
		const picture = channels.find((channel) => typeof channel === "object");
		if (picture) {
			picture.sendPicture(monitor);
			this.changed();
		} else {
			monitor.devices = undefined;
			monitor.sendSnapshot(this.#snapshot());
		}
		for (const channel of channels)
			if (typeof channel === "function") for (const text of channel()) monitor.send(Buffer.from(text), true);
	}

	list(): Iterable<Monitor> {
		return this.#monitors.keys();
	}

	/** Returns the subscriptions of all monitors and of other parts of this gateway. */
	needs(): Iterable<MonitorNeeds> {
		return [...this.#monitors.keys(), ...this.#needs];
	}

	/**
	 * Has the uplinks of these devices relayed to this gateway, whichever they are connected to. Call `changed` when others are needed.
	 * @returns a function that ends it
	 */
	need(devices: ReadonlySet<string>): () => void {
		const needs = { devices, summary: undefined };
		this.#needs.add(needs);
		this.changed();
		return () => {
			if (this.#needs.delete(needs)) this.changed();
		};
	}

	/** Call it when a monitor changes its subscription. */
	changed(): void {
		this.#options.peers.onInterestChanged();
	}

	/** Sends a frame to the monitors that asked for this channel. */
	broadcast(channel: string, text: string): void {
		const frame = Buffer.from(text);
		for (const [monitor, channels] of this.#monitors)
			if (channels.has(channel) && !this.#waiting.has(monitor)) monitor.send(frame, true);
	}

	/** Sends all snapshots again, since only the summary reports forgotten devices. */
	announceAll(): void {
		const { limits, yieldToLoop } = this.#options;
		this.#announcing ??= setTimeout(async () => {
			this.#announcing = undefined;
			for (const monitor of [...this.#monitors.keys()]) {
				await yieldToLoop();
				if (!monitor.devices) monitor.sendSnapshot(this.#snapshot());
			}
		}, limits.snapshotPauseMs).unref();
	}

	announce(session: Session, reason: ChangeReason): void {
		this.#sendAbout(
			session,
			() => textFrame(statusUpdateText(reason, session, this.#options.now())),
			(monitor, frame) => monitor.sendChange(session.sessionId, frame),
		);
	}

	/** @param text of an uplink, in UTF-8 */
	relay(session: Session, text: Buffer, isStateReport: boolean): void {
		this.#sendAbout(
			session,
			() => textFrame(deviceMessageHead(session), text, "}"),
			(monitor, frame) => monitor.relay(session.sessionId, frame, isStateReport),
		);
	}

	/** Closes every socket with 1001. */
	close(): void {
		clearTimeout(this.#announcing);
		for (const monitor of this.#monitors.keys()) monitor.close(closeCodes.goingAway, "the gateway stops");
	}

	#sendAbout(session: Session, make: () => Buffer, send: (monitor: Monitor, frame: Buffer) => void): void {
		let frame: Buffer | undefined;
		for (const monitor of this.#monitors.keys()) {
			if (!monitor.wants(session)) continue;
			this.cork();
			frame ??= make();
			send(monitor, frame);
		}
	}

	#snapshot(): Generator<string> {
		const { sessions, now } = this.#options;
		return snapshotTexts(sessions, now);
	}

	/** Call it before frames are sent to many monitors: those of a few milliseconds share a system call. */
	cork(): void {
		if (this.#isCorked) return;
		this.#isCorked = true;
		this.#corkedAt = performance.now();
		for (const monitor of this.#monitors.keys()) monitor.cork();
		const restMs = this.#flushedAt + this.#options.limits.gatherFramesMs - this.#corkedAt;
		if (restMs > 0) setTimeout(this.#flush, restMs);
		else setImmediate(this.#flush);
	}

	readonly #flush = (): void => {
		this.#isCorked = false;
		this.#flushedAt = performance.now();
		for (const monitor of this.#monitors.keys()) monitor.uncork();
		this.#options.metrics.relay.observe((performance.now() - this.#corkedAt) / 1000);
	};

	async #answer(monitor: Monitor, text: string, isTooMuch: boolean): Promise<string> {
		const { limits, metrics, execute } = this.#options;
		const value = parseJson(text);
		const outcome = isTooMuch
			? refuse("rate_limited", `send at most ${limits.commandsASecond} messages a second`)
			: await execute(value, monitor);
		const requestId = requestIdOf(value);
		const about = requestId === undefined ? {} : { requestId };
		if (outcome.rejection) {
			metrics.refusedCommands.inc({ code: outcome.rejection.code });
			return frameText<"error">({ type: "error", ...about, ...outcome.rejection });
		}
		metrics.commands.inc({ type: outcome.command });
		return frameText<"ack">({ type: "ack", ...about, ...outcome });
	}
}

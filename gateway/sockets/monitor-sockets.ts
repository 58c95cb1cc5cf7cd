/**
 * WebSocket endpoint `/monitor`: sends each monitor a snapshot, then all changes and uplinks or those it subscribed to,
 * and one response to each of its messages. A broadcast frame is built once for all monitors.
 */

import type { Duplex } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import type { WebSocket } from "ws";
import { TokenBucket } from "../access/rates.js";
import { type ChangeReason, frameText } from "../api/frames.js";
import { parseJson } from "../api/json.js";
import type { Base } from "../base.js";
import type { Listeners } from "../events.js";
import { closeCodes } from "../limits.js";
import type { Session } from "../sessions/device.js";
import { deviceMessageHead, snapshotTexts, statusUpdateText } from "../sessions/view.js";
import { Monitor } from "./monitor.js";
import { type Execute, rejectMessage, requestIdOf } from "./monitor-commands.js";
import type { SocketsOptions } from "./options.js";
import { textFrame } from "./text-frame.js";

export interface MonitorHooks {
	/** Channels by name. Monitors subscribe to them with query parameters such as `/monitor?lists`. */
	readonly channels?: Readonly<Record<string, Channel>>;
}

/**
 * Function that returns the first frames of a channel, whose later ones MonitorSockets.broadcast sends; or an object
 * that sends a snapshot of its own instead of all sessions.
 */
export type Channel = (() => readonly string[]) | { readonly sendSnapshot: (monitor: Monitor) => void };

/** Devices and summary that a monitor, or another part of this gateway, receives. */
export type Subscription = Pick<Monitor, "devices" | "summary">;

export interface MonitorSocketsOptions extends SocketsOptions {
	readonly execute: Execute;
	readonly hooks: readonly MonitorHooks[];
	readonly peers: Base["peers"];
}

export class MonitorSockets {
	readonly #options: MonitorSocketsOptions;
	/** Monitors with the names of their channels. */
	readonly #monitors = new Map<Monitor, ReadonlySet<string>>();
	/** Subscriptions of other parts of this gateway. */
	readonly #subscriptions = new Set<Subscription>();
	/** Monitors whose snapshot is not sent yet. */
	readonly #awaitingSnapshot = new Set<Monitor>();
	#snapshotTimer: NodeJS.Timeout | undefined;
	#isCorked = false;

	readonly listeners: Listeners = {
		sessionChanged: (session, reason) => this.announce(session, reason),
		uplink: (session, { type }, text) => this.relay(session, text, type === "state_report"),
		uplinkRelayed: (...uplink) => this.relay(...uplink),
		deviceForgotten: (_device, why) => {
			if (why === "removed") this.sendSnapshots();
		},
	};

	constructor(options: MonitorSocketsOptions) {
		this.#options = options;
		const { watch } = options.metrics;
		const unsentBytes = () =>
			[...this.#monitors.keys()].reduce((bytes, monitor) => bytes + monitor.unsentBytes, 0);
		watch("gateway_monitors", "Connected monitors", () => this.#monitors.size);
		watch("gateway_monitor_queue_bytes", "Bytes queued for monitors", unsentBytes);
	}

	/**
	 * Adds a monitor whose upgrade request was accepted, and sends its snapshot.
	 * @param stream underlying connection
	 * @param channels names of channels; unknown ones have no effect
	 */
	accept(socket: WebSocket, stream: Duplex, client: Monitor["client"], channels: ReadonlySet<string>): void {
		const { remoteAddress } = client;
		const { limits, log, monotonic, yieldToLoop } = this.#options;
		const bucketOf = (perSecond: number, burst: number) => new TokenBucket({ perSecond, burst, monotonic });
		const commands = bucketOf(limits.commandsASecond, limits.commandBurst);
		const rejections = bucketOf(limits.rejectionsASecond, limits.rejectionBurst);
		const controlFrames = bucketOf(limits.controlFramesASecond, limits.controlFrameBurst);
		const monitor = new Monitor({ socket, stream, client, limits, yieldToLoop });
		this.#monitors.set(monitor, channels);
		log.info({ remoteAddress, monitors: this.#monitors.size }, "monitor connected");
		socket.on("message", (data, isBinary) => {
			if (socket.readyState !== socket.OPEN) return;
			if (isBinary) return socket.close(closeCodes.unsupportedData, "text frames only");
			const isThrottled = !commands.take();
			if (isThrottled && !rejections.take())
				return monitor.close(closeCodes.policyViolation, "too many messages");
			this.#sendFirstFrames(monitor);
			this.cork();
			this.#respond(monitor, data.toString(), isThrottled)
				.then((text) => monitor.send(Buffer.from(text)))
				.catch((error) => log.error({ err: error }, "executing a monitor message failed"));
		});
		const onControlFrame = () => {
			if (!controlFrames.take()) monitor.close(closeCodes.policyViolation, "too many ping or pong frames");
		};
		socket.on("ping", onControlFrame).on("pong", onControlFrame);
		socket.on("error", ({ message: problem }) =>
			log.warn({ remoteAddress, problem }, "monitor socket failed"),
		);
		socket.on("close", (code) => {
			this.#monitors.delete(monitor);
			this.#awaitingSnapshot.delete(monitor);
			this.onSubscriptionChanged();
			log.info({ remoteAddress, code, monitors: this.#monitors.size }, "monitor disconnected");
		});
		this.#awaitingSnapshot.add(monitor);
		const hasOwnSnapshot = this.#channelsOf(monitor).some((channel) => typeof channel === "object");
		if (hasOwnSnapshot || !this.#options.peers.bus) this.#sendFirstFrames(monitor);
		else void this.#fetchReports(monitor);
	}

	/** Fetches the reports of all gateways for the snapshot of a monitor, unless it subscribes first. */
	async #fetchReports(monitor: Monitor): Promise<void> {
		const { limits, peers } = this.#options;
		monitor.devices = new Set();
		await pause(limits.subscribeMs);
		if (!this.#awaitingSnapshot.has(monitor)) return;
		const unsubscribe = this.subscribe(undefined);
		await peers.fetchReports();
		this.#sendFirstFrames(monitor);
		unsubscribe();
	}

	#channelsOf(monitor: Monitor): readonly Channel[] {
		const names = this.#monitors.get(monitor);
		const channels = this.#options.hooks.flatMap(({ channels = {} }) => Object.entries(channels));
		return channels.flatMap(([name, channel]) => (names?.has(name) ? [channel] : []));
	}

	/** Sends the snapshot and the first frames of the channels, once. */
	#sendFirstFrames(monitor: Monitor): void {
		if (!this.#awaitingSnapshot.delete(monitor)) return;
		const channels = this.#channelsOf(monitor);
		const snapshotChannel = channels.find((channel) => typeof channel === "object");
		if (snapshotChannel) {
			snapshotChannel.sendSnapshot(monitor);
			this.onSubscriptionChanged();
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
	subscriptions(): Iterable<Subscription> {
		return [...this.#monitors.keys(), ...this.#subscriptions];
	}

	/**
	 * Subscribes this gateway to the uplinks of these devices, even if they are connected to other gateways.
	 * @param devices ids; call `onSubscriptionChanged` after changing the set; undefined: all
	 * @returns a function that ends the subscription
	 */
	subscribe(devices: ReadonlySet<string> | undefined): () => void {
		const subscription = { devices, summary: undefined };
		this.#subscriptions.add(subscription);
		this.onSubscriptionChanged();
		return () => {
			if (this.#subscriptions.delete(subscription)) this.onSubscriptionChanged();
		};
	}

	/** Updates the subscriptions of this gateway at others. Call it when a subscription changes. */
	onSubscriptionChanged(): void {
		this.#options.peers.onInterestChanged();
	}

	/** Sends a frame to all subscribers of a channel. */
	broadcast(channel: string, text: string): void {
		const frame = Buffer.from(text);
		for (const [monitor, channels] of this.#monitors)
			if (channels.has(channel) && !this.#awaitingSnapshot.has(monitor)) monitor.send(frame, true);
	}

	/** Sends new snapshots to monitors of all devices, since only the summary reports forgotten devices. Debounced. */
	sendSnapshots(): void {
		const { limits, yieldToLoop } = this.#options;
		this.#snapshotTimer ??= setTimeout(async () => {
			this.#snapshotTimer = undefined;
			for (const monitor of [...this.#monitors.keys()]) {
				await yieldToLoop();
				if (!monitor.devices) monitor.sendSnapshot(this.#snapshot());
			}
		}, limits.snapshotDebounceMs).unref();
	}

	/** Sends a `status_update` to the subscribers of a session's device. */
	announce(session: Session, reason: ChangeReason): void {
		this.#sendToSubscribers(
			session,
			() => textFrame(statusUpdateText(reason, session, this.#options.now())),
			(monitor, frame) => monitor.sendChange(session.sessionId, frame),
		);
	}

	/** Relays an uplink to the subscribers of its device. @param text uplink in UTF-8 */
	relay(session: Session, text: Buffer, isStateReport: boolean): void {
		this.#sendToSubscribers(
			session,
			() => textFrame(deviceMessageHead(session), text, "}"),
			(monitor, frame) => monitor.relay(session.sessionId, frame, isStateReport),
		);
	}

	/** Closes every socket with 1001. */
	close(): void {
		clearTimeout(this.#snapshotTimer);
		for (const monitor of this.#monitors.keys()) monitor.close(closeCodes.goingAway, "gateway stopping");
	}

	#sendToSubscribers(
		session: Session,
		make: () => Buffer,
		send: (monitor: Monitor, frame: Buffer) => void,
	): void {
		let frame: Buffer | undefined;
		for (const monitor of this.#monitors.keys()) {
			if (!monitor.isSubscribedTo(session)) continue;
			if (!frame) {
				this.cork();
				frame = make();
			}
			send(monitor, frame);
		}
	}

	#snapshot(): Generator<string> {
		const { sessions, now } = this.#options;
		return snapshotTexts(sessions, now);
	}

	/**
	 * Batches the frames to each monitor until the end of a turn of the event loop, so that they share a system call: the
	 * higher the load, the more frames a turn has. Call it before each frame to many monitors.
	 */
	cork(): void {
		if (this.#isCorked) return;
		this.#isCorked = true;
		const corkedAt = performance.now();
		for (const monitor of this.#monitors.keys()) monitor.cork();
		setImmediate(() => {
			this.#isCorked = false;
			for (const monitor of this.#monitors.keys()) monitor.uncork();
			this.#options.metrics.relay.observe((performance.now() - corkedAt) / 1000);
		});
	}

	async #respond(monitor: Monitor, text: string, isThrottled: boolean): Promise<string> {
		const { limits, metrics, execute } = this.#options;
		const value = parseJson(text);
		const outcome = isThrottled
			? rejectMessage(
					"rate_limited",
					`rate limit exceeded; send at most ${limits.commandsASecond} messages per second`,
				)
			: await execute(value, monitor);
		const requestId = requestIdOf(value);
		const ids = requestId === undefined ? {} : { requestId };
		if (outcome.rejection) {
			metrics.rejectedCommands.inc({ code: outcome.rejection.code });
			return frameText<"error">({ type: "error", ...ids, ...outcome.rejection });
		}
		metrics.commands.inc({ type: outcome.command });
		return frameText<"ack">({ type: "ack", ...ids, ...outcome });
	}
}

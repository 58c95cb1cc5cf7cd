/**
 * WebSocket endpoint `/device`. Validates and throttles uplinks: an invalid one is logged and dropped, and repeated
 * ones close the socket, so the rest of the gateway receives valid uplinks only.
 */

import { setTimeout } from "node:timers/promises";
import type { RawData, WebSocket } from "ws";
import { createMinuteCounter, type Rate, Throttle, TokenBucket } from "../access/rates.js";
import { closeCodes } from "../limits.js";
import type { DeviceLink, Handshake, Session } from "../sessions/device.js";
import { UplinkReader } from "../uplinks/uplink-reader.js";
import type { Drain } from "./drain.js";
import type { DeviceSocketsOptions } from "./options.js";

const drainStepMs = 20;
/** Time for sockets to emit `close` after they were terminated. */
const terminateMs = 1000;

export class DeviceSockets {
	readonly #options: DeviceSocketsOptions;
	readonly #shared: Shared;
	/** Sockets whose session has not ended yet, including closed ones. */
	readonly #devices = new Map<WebSocket, DeviceSocket>();
	readonly #listeners: ReturnType<typeof listenersOf>;

	constructor(options: DeviceSocketsOptions) {
		this.#options = options;
		const { limits, monotonic, metrics } = options;
		const { uplinksASecond, uplinkBurst, controlFramesASecond, controlFrameBurst } = limits;
		this.#shared = {
			options,
			reader: new UplinkReader(),
			uplinks: { perSecond: uplinksASecond, burst: uplinkBurst, monotonic },
			controlFrames: { perSecond: controlFramesASecond, burst: controlFrameBurst, monotonic },
		};
		this.#listeners = listenersOf(this.#devices, options.yieldToLoop);
		const unsentBytes = () =>
			[...this.#devices.keys()].reduce((bytes, socket) => bytes + socket.bufferedAmount, 0);
		metrics.watch("gateway_sessions", "Connected devices", () => this.#devices.size);
		metrics.watch("gateway_device_queue_bytes", "Bytes queued for devices", unsentBytes);
	}

	/** Opens the session of a device whose upgrade request was accepted. */
	accept(socket: WebSocket, handshake: Handshake): Session {
		const device = new DeviceSocket(this.#shared, socket, handshake);
		this.#devices.set(socket, device);
		// A closure of its own, since a lookup in the map for each message would take longer.
		socket.on("message", (data, isBinary) => device.onFrame(data, isBinary));
		const { onControlFrame, onError, onClose } = this.#listeners;
		socket.on("ping", onControlFrame).on("pong", onControlFrame);
		socket.on("error", onError).on("close", onClose);
		return device.session;
	}

	get count(): number {
		return this.#devices.size;
	}

	/** Closes all sockets with 1012, a few at a time, and terminates those still open after a timeout. */
	async drain(drain: Drain): Promise<void> {
		let closed = 0;
		for (const device of this.#devices.values()) {
			device.close(closeCodes.serviceRestart, `retry in ${drain.retrySeconds()} s`);
			closed += 1;
			if (closed % drain.devicesPer(drainStepMs) === 0) await setTimeout(drainStepMs);
		}
		await this.#waitUntilClosed(this.#options.limits.deviceCloseTimeoutMs);
		for (const socket of this.#devices.keys()) socket.terminate();
		await this.#waitUntilClosed(terminateMs);
	}

	async #waitUntilClosed(timeoutMs: number): Promise<void> {
		for (let leftMs = timeoutMs; leftMs > 0 && this.#devices.size > 0; leftMs -= drainStepMs)
			await setTimeout(drainStepMs);
	}

	/** Ends all sessions. Called after all connections are closed. */
	settle(): void {
		for (const device of this.#devices.values()) device.end();
	}
}

/** Creates event listeners that all sockets share, since a closure per device takes 0.1 KB. */
function listenersOf(devices: Map<WebSocket, DeviceSocket>, yieldToLoop: () => Promise<void>) {
	return {
		onControlFrame(this: WebSocket): void {
			devices.get(this)?.countControlFrame();
		},
		onError(this: WebSocket, { message }: Error): void {
			devices.get(this)?.onError(message);
		},
		async onClose(this: WebSocket, code: number): Promise<void> {
			const device = devices.get(this);
			device?.onClosed(code);
			await yieldToLoop();
			devices.delete(this);
			device?.end();
		},
	};
}

/** State and options shared by all sockets. */
interface Shared {
	readonly options: DeviceSocketsOptions;
	readonly reader: UplinkReader;
	readonly uplinks: Rate;
	readonly controlFrames: Rate;
}

class DeviceSocket implements DeviceLink {
	readonly #shared: Shared;
	readonly #socket: WebSocket;
	readonly session: Session;
	readonly #uplinks: Throttle;
	readonly #controlFrames: TokenBucket;
	/** Counter of invalid uplinks; undefined before the first one. */
	#countInvalid: ReturnType<typeof createMinuteCounter> | undefined;
	#wasThrottled = false;

	constructor(shared: Shared, socket: WebSocket, handshake: Handshake) {
		this.#shared = shared;
		this.#socket = socket;
		this.#uplinks = new Throttle(socket, shared.uplinks);
		this.#controlFrames = new TokenBucket(shared.controlFrames);
		this.session = shared.options.sessions.open(handshake, this);
	}

	send(text: string): void {
		if (!this.isOpen()) return;
		const socket = this.#socket;
		socket.send(text);
		if (socket.bufferedAmount > this.#shared.options.limits.deviceBacklogBytes) socket.terminate();
	}

	isOpen(): boolean {
		return this.#socket.readyState === this.#socket.OPEN;
	}

	close(code: number, reason: string): void {
		this.#uplinks.resume();
		this.#socket.close(code, reason);
	}

	/** Ends the session. Called after the socket is closed. */
	end(): void {
		this.#shared.options.sessions.end(this.session, "disconnected");
	}

	onFrame(data: RawData, isBinary: boolean): void {
		if (!this.isOpen()) return;
		if (isBinary || !(data instanceof Buffer))
			return this.#reject(closeCodes.unsupportedData, "text frames only");
		if (this.#uplinks.count(data)) this.#onPaused();
		this.#onUplink(data);
	}

	countControlFrame(): void {
		if (!this.#controlFrames.take()) this.#reject(closeCodes.policyViolation, "too many ping or pong frames");
	}

	onError(problem: string): void {
		this.#shared.options.log.warn({ ...this.#logFields, problem }, "device socket failed");
	}

	onClosed(code: number): void {
		this.#uplinks.resume();
		this.#shared.options.log.debug({ ...this.#logFields, code }, "device socket closed");
	}

	#onUplink(message: Buffer): void {
		const session = this.session;
		const { events, limits, metrics, log, monotonic } = this.#shared.options;
		const problem = this.#receive(message);
		if (problem === undefined) return;
		metrics.droppedUplinks.inc();
		const deviceId = session.device?.deviceId;
		const { remoteAddress } = session.handshake;
		const what = session.connected ? "report" : "connection";
		events.emit("rejected", { what, deviceId, remoteAddress, reason: problem }, false);
		log.warn({ ...this.#logFields, problem }, "uplink dropped");
		this.#countInvalid ??= createMinuteCounter();
		if (this.#countInvalid(monotonic()) >= limits.invalidUplinksAMinute)
			this.#reject(closeCodes.policyViolation, "too many invalid uplinks");
	}

	/** Logs the first time that the throttle pauses the socket. */
	#onPaused(): void {
		this.#shared.options.metrics.pausedDevices.inc();
		if (!this.#wasThrottled)
			this.#shared.options.log.warn(this.#logFields, "uplink rate limit exceeded, throttling device");
		this.#wasThrottled = true;
	}

	/** Parses and delivers an uplink. @returns reason why it is invalid, or undefined */
	#receive(message: Buffer): string | undefined {
		const { reader, options } = this.#shared;
		const { sessions, metrics, rejectionOf } = options;
		const result = reader.read(message);
		if (result.problem !== undefined) return result.problem;
		const { uplink, droppedFields } = result;
		if (droppedFields > 0) metrics.leftOutFields.inc(droppedFields);
		const { isBound, deviceId } = this.session.handshake;
		if (isBound && "deviceId" in uplink && uplink.deviceId !== deviceId) {
			this.#reject(closeCodes.policyViolation, `this token is valid for ${deviceId} only`);
			return `${uplink.type}: deviceId must be ${deviceId}, for which the token is valid`;
		}
		const rejection =
			this.session.device || !("deviceId" in uplink) ? undefined : rejectionOf(uplink.deviceId);
		if (rejection !== undefined) {
			this.#reject(closeCodes.policyViolation, "device rejected");
			return rejection.detail;
		}
		const problem = sessions.receive(this.session, uplink, result.text);
		if (problem === undefined) metrics.countUplink(uplink.type);
		return problem;
	}

	#reject(code: number, reason: string): void {
		this.#shared.options.sessions.end(this.session, "disconnected", { code, reason });
	}

	get #logFields() {
		const { sessionId, device } = this.session;
		return { sessionId, deviceId: device?.deviceId };
	}
}

/**
 * The gateway's end of `/device`. Invalid messages end here in a log line or a close code, so other parts receive
 * valid uplinks only.
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
/** Time for the sessions of terminated sockets to end. */
const cutMs = 1000;

export class DeviceSockets {
	readonly #options: DeviceSocketsOptions;
	readonly #shared: Shared;
	/** A closed socket stays until its session has ended. */
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
		const unread = () =>
			[...this.#devices.keys()].reduce((bytes, socket) => bytes + socket.bufferedAmount, 0);
		metrics.watch("gateway_sessions", "Devices that are connected", () => this.#devices.size);
		metrics.watch("gateway_device_queue_bytes", "Bytes that devices have not read yet", unread);
	}

	/** Adds a socket after its upgrade was checked. */
	accept(socket: WebSocket, handshake: Handshake): Session {
		const device = new DeviceSocket(this.#shared, socket, handshake);
		this.#devices.set(socket, device);
		// Called most: to look the device up takes longer.
		socket.on("message", (data, isBinary) => device.take(data, isBinary));
		const { onControlFrame, onError, onClose } = this.#listeners;
		socket.on("ping", onControlFrame).on("pong", onControlFrame);
		socket.on("error", onError).on("close", onClose);
		return device.session;
	}

	get count(): number {
		return this.#devices.size;
	}

	/** Closes all sockets with 1012, a few at a time. Resolves when all are closed; those that stay are terminated. */
	async drain(drain: Drain): Promise<void> {
		let closed = 0;
		for (const device of this.#devices.values()) {
			device.close(closeCodes.serviceRestart, `retry in ${drain.drawSeconds()} s`);
			closed += 1;
			if (closed % drain.devicesIn(drainStepMs) === 0) await setTimeout(drainStepMs);
		}
		await this.#untilGone(this.#options.limits.devicesLeaveMs);
		for (const socket of this.#devices.keys()) socket.terminate();
		await this.#untilGone(cutMs);
	}

	async #untilGone(ms: number): Promise<void> {
		for (let leftMs = ms; leftMs > 0 && this.#devices.size > 0; leftMs -= drainStepMs)
			await setTimeout(drainStepMs);
	}

	/** Ends every session; call it when all connections are closed. */
	settle(): void {
		for (const device of this.#devices.values()) device.end();
	}
}

/** Shared by all sockets: a closure takes 0.1 KB for each device. */
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

/** By all devices. */
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
	/** Undefined before the first invalid uplink. */
	#countInvalid: ReturnType<typeof createMinuteCounter> | undefined;
	#wasTooFast = false;

	constructor(shared: Shared, socket: WebSocket, handshake: Handshake) {
		this.#shared = shared;
		this.#socket = socket;
		this.#uplinks = new Throttle(socket, shared.uplinks, this);
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
		this.#uplinks.close();
		this.#socket.close(code, reason);
	}

	/** Ends the session; call it when the socket is closed. */
	end(): void {
		this.#shared.options.sessions.end(this.session, "disconnected");
	}

	take(data: RawData, isBinary: boolean): void {
		if (!this.session.connected) return;
		if (isBinary || !(data instanceof Buffer))
			return this.#refuse(closeCodes.unsupportedData, "text frames only");
		this.#uplinks.take(data);
	}

	countControlFrame(): void {
		if (!this.#controlFrames.take()) this.#refuse(closeCodes.policyViolation, "too many ping or pong frames");
	}

	onError(problem: string): void {
		this.#shared.options.log.warn({ ...this.#names, problem }, "device socket failed");
	}

	onClosed(code: number): void {
		this.#uplinks.finish();
		this.#shared.options.log.debug({ ...this.#names, code }, "device socket closed");
	}

	/** Called by the throttle. */
	onMessage(message: Buffer): void {
		const session = this.session;
		if (!session.connected) return;
		const { limits, metrics, sessions, log, monotonic } = this.#shared.options;
		const problem = this.#receive(message);
		if (problem === undefined) return;
		metrics.droppedUplinks.inc();
		const deviceId = session.device?.deviceId;
		const { remoteAddress } = session.handshake;
		sessions.refuse({ what: "report", deviceId, remoteAddress, reason: problem });
		log.warn({ ...this.#names, problem }, "uplink dropped");
		this.#countInvalid ??= createMinuteCounter();
		if (this.#countInvalid(monotonic()) >= limits.invalidUplinksAMinute)
			this.#refuse(closeCodes.policyViolation, "too many invalid uplinks");
	}

	/** Called by the throttle. */
	onPaused(): void {
		this.#shared.options.metrics.pausedDevices.inc();
		if (!this.#wasTooFast) this.#shared.options.log.warn(this.#names, "too many uplinks: they wait");
		this.#wasTooFast = true;
	}

	/** @returns what is wrong with the uplink, or undefined */
	#receive(message: Buffer): string | undefined {
		const { reader, options } = this.#shared;
		const { sessions, metrics, rejectionOf } = options;
		const read = reader.read(message);
		if (read.problem !== undefined) return read.problem;
		const { uplink, leftOut } = read;
		if (leftOut > 0) metrics.leftOutFields.inc(leftOut);
		const { isBound, deviceId } = this.session.handshake;
		if (isBound && "deviceId" in uplink && uplink.deviceId !== deviceId) {
			this.#refuse(closeCodes.policyViolation, `this token is for ${deviceId} alone`);
			return `${uplink.type}: deviceId must be ${deviceId}, whose token was shown`;
		}
		const rejection =
			this.session.device || !("deviceId" in uplink) ? undefined : rejectionOf(uplink.deviceId);
		if (rejection !== undefined) {
			this.#refuse(closeCodes.policyViolation, "this device is not let in");
			return rejection;
		}
		const problem = sessions.receive(this.session, uplink, read.text);
		if (problem === undefined) metrics.countUplink(uplink.type);
		return problem;
	}

	#refuse(code: number, reason: string): void {
		this.#shared.options.sessions.end(this.session, "disconnected", { code, reason });
	}

	/** For the log. */
	get #names() {
		const { sessionId, device } = this.session;
		return { sessionId, deviceId: device?.deviceId };
	}
}

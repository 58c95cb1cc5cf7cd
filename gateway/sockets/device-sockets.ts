/**
 * The gateway's end of `/device`. Invalid messages end here, in a log line or a close code, so that other parts see
 * valid uplinks only.
 */

import { setTimeout } from "node:timers/promises";
import type { WebSocket } from "ws";
import { checkUplink } from "../../device/protocol/messages.js";
import {
	createMinuteCounter,
	limitMessagesAfterClose,
	type Rate,
	Throttle,
	watchControlFrames,
} from "../rates.js";
import type { Handshake, Session } from "../sessions/device.js";
import type { Drain } from "./drain.js";
import { closeCodes, type SocketsOptions } from "./limits.js";

const drainStepMs = 20;
/** For sessions of sockets that were cut off to end, so that monitors see it. */
const cutMs = 1000;

export class DeviceSockets {
	readonly #options: SocketsOptions;
	readonly #rate: Rate;
	readonly #controlRate: Rate;
	/** A closed socket stays until its session has ended. */
	readonly #sockets = new Map<WebSocket, Session>();

	constructor(options: SocketsOptions) {
		this.#options = options;
		const { limits, monotonic, metrics } = options;
		this.#rate = { perSecond: limits.uplinksASecond, burst: limits.uplinkBurst, monotonic };
		const { controlFramesASecond, controlFrameBurst } = limits;
		this.#controlRate = { perSecond: controlFramesASecond, burst: controlFrameBurst, monotonic };
		const unread = () =>
			[...this.#sockets.keys()].reduce((bytes, socket) => bytes + socket.bufferedAmount, 0);
		metrics.watch("gateway_sessions", "Devices that are connected", () => this.#sockets.size);
		metrics.watch("gateway_device_queue_bytes", "Bytes that devices have not read yet", unread);
	}

	/** Adds a socket after its upgrade was checked. */
	accept(socket: WebSocket, handshake: Handshake): void {
		const { sessions, limits, metrics, log, yieldToLoop } = this.#options;
		const session = sessions.open(handshake, {
			send: (text) => this.#send(socket, text),
			isOpen: () => socket.readyState === socket.OPEN,
			close: (code, reason) => {
				throttle.close();
				socket.close(code, reason);
			},
		});
		this.#sockets.set(socket, session);
		const countInvalid = createMinuteCounter();
		let wasTooFast = false;
		const onMessage = (text: string) => this.#take(session, text, countInvalid);
		const onPaused = () => {
			metrics.pausedDevices.inc();
			if (!wasTooFast) log.warn(namesOf(session), "too many uplinks: they wait");
			wasTooFast = true;
		};
		const onMessageAfterClose = limitMessagesAfterClose(socket, limits.messagesAfterClose);
		watchControlFrames(socket, this.#controlRate, () => {
			if (!session.connected) return onMessageAfterClose();
			this.#end(session, closeCodes.policyViolation, "too many ping or pong frames");
		});
		const throttle = new Throttle(socket, this.#rate, onMessage, onPaused);
		socket.on("message", (data, isBinary) => {
			if (!session.connected) return onMessageAfterClose();
			if (isBinary) return this.#end(session, closeCodes.unsupportedData, "text frames only");
			throttle.take(data.toString());
		});
		socket.on("error", ({ message: problem }) =>
			log.warn({ ...namesOf(session), problem }, "device socket failed"),
		);
		socket.on("close", async (code) => {
			throttle.finish();
			log.debug({ ...namesOf(session), code }, "device socket closed");
			await yieldToLoop();
			this.#sockets.delete(socket);
			sessions.end(session, "disconnected");
		});
	}

	/** Connected ones. */
	get count(): number {
		return this.#sockets.size;
	}

	/** Closes every socket with 1012, some at a time. Resolves once all are gone, and cuts those off that stay. */
	async drain(drain: Drain): Promise<void> {
		let closed = 0;
		for (const { link } of this.#sockets.values()) {
			link.close(closeCodes.serviceRestart, `retry in ${drain.drawSeconds()} s`);
			closed += 1;
			if (closed % drain.devicesIn(drainStepMs) === 0) await setTimeout(drainStepMs);
		}
		await this.#untilGone(this.#options.limits.devicesLeaveMs);
		for (const socket of this.#sockets.keys()) socket.terminate();
		await this.#untilGone(cutMs);
	}

	/** Waits until no socket is left, at most `ms`. */
	async #untilGone(ms: number): Promise<void> {
		for (let leftMs = ms; leftMs > 0 && this.#sockets.size > 0; leftMs -= drainStepMs)
			await setTimeout(drainStepMs);
	}

	/** Ends every session, once all connections are closed. */
	settle(): void {
		const { sessions } = this.#options;
		for (const session of this.#sockets.values()) sessions.end(session, "disconnected");
	}

	#take(session: Session, text: string, countInvalid: (now: number) => number): void {
		if (!session.connected) return;
		const { limits, metrics, refusals, log, monotonic } = this.#options;
		const problem = this.#receive(session, text);
		if (problem === undefined) return;
		metrics.droppedUplinks.inc();
		const deviceId = session.device?.deviceId;
		refusals.add({
			what: "report",
			deviceId,
			remoteAddress: session.handshake.remoteAddress,
			reason: problem,
		});
		log.warn({ ...namesOf(session), problem }, "uplink dropped");
		if (countInvalid(monotonic()) >= limits.invalidUplinksAMinute)
			this.#end(session, closeCodes.policyViolation, "too many invalid uplinks");
	}

	/** @returns what is wrong with the uplink, or undefined */
	#receive(session: Session, text: string): string | undefined {
		const { sessions, metrics } = this.#options;
		const value = parseJson(text);
		if (value === undefined) return "not JSON";
		const checked = checkUplink(value);
		if (checked.problem !== undefined) return checked.problem;
		const { uplink } = checked;
		const { isBound, deviceId } = session.handshake;
		if (isBound && "deviceId" in uplink && uplink.deviceId !== deviceId) {
			this.#end(session, closeCodes.policyViolation, `this token is for ${deviceId} alone`);
			return `${uplink.type}: deviceId must be ${deviceId}, whose token was shown`;
		}
		const problem = sessions.receive(session, uplink, text);
		if (problem === undefined) metrics.countUplink(uplink.type);
		return problem;
	}

	#end(session: Session, code: number, reason: string): void {
		this.#options.sessions.end(session, "disconnected", { code, reason });
	}

	#send(socket: WebSocket, text: string): void {
		if (socket.readyState !== socket.OPEN) return;
		socket.send(text);
		if (socket.bufferedAmount > this.#options.limits.deviceBacklogBytes) socket.terminate();
	}
}

/** Names a device in the log. */
function namesOf({ sessionId, device }: Session) {
	return { sessionId, deviceId: device?.deviceId };
}

/** @returns undefined if `text` is not JSON */
export function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

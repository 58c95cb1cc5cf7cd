/**
 * The gateway's end of `/device`: frames in, frames out. Everything a device may get wrong ends here, in a log line or
 * a close code, so that the rooms behind see valid uplinks only.
 */

import type { Logger } from "pino";
import type { WebSocket } from "ws";
import { checkUplink } from "../../device/protocol/messages.js";
import type { Introduction, Session } from "../sessions/device.js";
import type { Sessions } from "../sessions/sessions.js";
import type { Metrics } from "../telemetry/metrics.js";
import type { Heartbeat } from "./heartbeat.js";
import { closeCodes, type SocketLimits } from "./limits.js";
import { MinuteCounter, Pacer, TokenBucket } from "./rates.js";

export interface DeviceSocketsOptions {
	readonly sessions: Sessions;
	readonly heartbeat: Heartbeat;
	readonly limits: SocketLimits;
	readonly log: Logger;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	readonly metrics: Metrics;
}

/** A whole site that loses its network must not keep all others waiting until every monitor has heard of each device. */
const endsATurn = 5;

export class DeviceSockets {
	readonly #options: DeviceSocketsOptions;
	readonly #sockets = new Map<WebSocket, Session>();
	/** Whose sockets are gone, and which are still to be ended. */
	readonly #gone: Session[] = [];

	constructor(options: DeviceSocketsOptions) {
		this.#options = options;
	}

	/** Takes on a socket whose upgrade has been checked. */
	accept(socket: WebSocket, introduction: Introduction): void {
		const { sessions, heartbeat, limits, metrics, now } = this.#options;
		heartbeat.watch(socket);
		const session = sessions.open(introduction, {
			send: (text) => this.#send(socket, text),
			close: (code, reason) => {
				pacer.close();
				socket.close(code, reason);
			},
		});
		this.#sockets.set(socket, session);
		const log = this.#options.log.child({ sessionId: session.sessionId });
		const invalid = new MinuteCounter(limits.invalidUplinksAMinute);
		let wasTooFast = false;
		const pacer = new Pacer({
			socket,
			bucket: new TokenBucket({ perSecond: limits.uplinksASecond, burst: limits.uplinkBurst, now }),
			onTurn: (text) => {
				if (!session.connected) return;
				const startedAt = performance.now();
				const problem = this.#receive(session, text);
				if (problem === undefined) return metrics.relay.observe((performance.now() - startedAt) / 1000);
				metrics.droppedUplinks.inc();
				log.warn({ deviceId: session.device?.deviceId, problem }, "uplink dropped");
				if (invalid.count(now())) this.#end(session, closeCodes.policyViolation, "too many invalid uplinks");
			},
			onPaused: () => {
				metrics.pausedDevices.inc();
				if (!wasTooFast) log.warn({ deviceId: session.device?.deviceId }, "too many uplinks: they wait");
				wasTooFast = true;
			},
		});
		socket.on("message", (data, isBinary) => {
			if (!session.connected) return;
			if (isBinary) return this.#end(session, closeCodes.unsupportedData, "text frames only");
			pacer.take(data.toString());
		});
		socket.on("error", (error) => log.warn({ problem: error.message }, "device socket failed"));
		socket.on("close", (code) => {
			this.#sockets.delete(socket);
			pacer.close();
			log.debug({ deviceId: session.device?.deviceId, code }, "device socket closed");
			this.#gone.push(session);
			if (this.#gone.length === 1) setImmediate(() => this.#endGone());
		});
	}

	/** Bytes that devices have not read yet. */
	get backlog(): number {
		let bytes = 0;
		for (const socket of this.#sockets.keys()) bytes += socket.bufferedAmount;
		return bytes;
	}

	/** Devices that are connected. */
	get size(): number {
		return this.#sockets.size;
	}

	/** Closes every socket with 1001. */
	close(): void {
		for (const { link } of this.#sockets.values()) link.close(closeCodes.goingAway, "the gateway stops");
	}

	/** Every connection has ended: now every session has. */
	settle(): void {
		for (const session of [...this.#gone, ...this.#sockets.values()])
			this.#options.sessions.end(session, "disconnected");
	}

	#endGone(): void {
		for (const session of this.#gone.splice(0, endsATurn))
			this.#options.sessions.end(session, "disconnected");
		if (this.#gone.length > 0) setImmediate(() => this.#endGone());
	}

	/** @returns undefined, or what is wrong with the uplink */
	#receive(session: Session, text: string): string | undefined {
		const value = parseJson(text);
		if (value === undefined) return "not JSON";
		const checked = checkUplink(value);
		if (checked.problem !== undefined) return checked.problem;
		const { uplink } = checked;
		const { isBound, deviceId } = session.introduction;
		if (isBound && "deviceId" in uplink && uplink.deviceId !== deviceId) {
			this.#end(session, closeCodes.policyViolation, `this token is for ${deviceId} alone`);
			return `${uplink.type}: deviceId must be ${deviceId}, whose token was shown`;
		}
		const problem = this.#options.sessions.receive(session, uplink, text);
		if (problem === undefined) this.#options.metrics.uplinks.inc({ type: uplink.type });
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

/** @returns undefined where `text` is not JSON */
export function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

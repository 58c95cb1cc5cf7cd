/**
 * Every request to upgrade a connection: to `/device`, to `/monitor`, or to nothing. What is not let in is told why in
 * HTTP and cut off; a socket that hangs here, or an error on it, would be one that nobody listens to.
 */

import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { Logger } from "pino";
import { WebSocketServer } from "ws";
import { chips, deviceId } from "../../device/protocol/messages.js";
import { findProblem, matches, models, oneOf, type Problem } from "../../device/protocol/schema.js";
import type { Access, Admission } from "../access/access.js";
import { AddressLimit } from "../access/address-limit.js";
import { parseUrl, reachedAt, remoteAddressOf } from "../access/origin.js";
import { type HttpRefusal, problemMediaType, problemText } from "../problem.js";
import type { Introduction } from "../sessions/device.js";
import type { Metrics } from "../telemetry/metrics.js";
import type { DeviceSockets } from "./device-sockets.js";
import type { SocketLimits } from "./limits.js";
import type { MonitorSockets } from "./monitor-sockets.js";
import { TokenBucket } from "./rates.js";

/** The version of the protocol between device and gateway that this gateway speaks. */
const protocolVersion = "1";
const modelName = oneOf(...models);

export interface UpgradesOptions {
	readonly access: Access;
	readonly devices: DeviceSockets;
	readonly monitors: MonitorSockets;
	readonly limits: SocketLimits;
	readonly publicUrl: URL | undefined;
	readonly metrics: Metrics;
	readonly log: Logger;
	/** Milliseconds since 1970. */
	readonly now: () => number;
}

export class Upgrades {
	readonly #options: UpgradesOptions;
	readonly #server: WebSocketServer;
	readonly #addresses: AddressLimit;
	readonly #admitted: TokenBucket;
	#isClosed = false;

	constructor(options: UpgradesOptions) {
		this.#options = options;
		const serverOptions = {
			noServer: true,
			clientTracking: false,
			perMessageDeflate: false,
			maxPayload: options.limits.maxFrameBytes,
			closeTimeout: options.limits.closeTimeoutMs,
		};
		this.#server = new WebSocketServer(serverOptions);
		const { upgradesInTwoSeconds: points, devicesASecond: perSecond, deviceBurst: burst } = options.limits;
		this.#addresses = new AddressLimit({ points, seconds: 2, what: "connections" });
		this.#admitted = new TokenBucket({ perSecond, burst, now: options.now });
	}

	/** Answers a request to upgrade; to be called for each `upgrade` event of the HTTP server. */
	async handle(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
		const onError = () => socket.destroy();
		socket.on("error", onError);
		const url = parseUrl(`http://gateway${request.url ?? ""}`);
		const path = url?.pathname;
		const admission = await this.#admit(request, path);
		if (admission.refusal) return this.#refuse(request, path, socket, admission.refusal);
		const introduction = path === "/device" ? this.#introduction(request, admission.deviceId) : undefined;
		if (introduction && "status" in introduction) return this.#refuse(request, path, socket, introduction);
		const batchMs = path === "/monitor" ? readBatch(url?.searchParams) : undefined;
		if (typeof batchMs === "object") return this.#refuse(request, path, socket, batchMs);
		socket.off("error", onError);
		this.#server.handleUpgrade(request, socket, head, (webSocket) => {
			if (introduction) this.#options.devices.accept(webSocket, introduction);
			else this.#options.monitors.accept(webSocket, socket, remoteAddressOf(request), batchMs);
		});
	}

	/** From now on every upgrade is refused. */
	close(): void {
		this.#isClosed = true;
	}

	async #admit(request: IncomingMessage, path: string | undefined): Promise<Admission> {
		const { access } = this.#options;
		if (path !== "/device" && path !== "/monitor")
			return { refusal: { status: 404, detail: "WebSockets are at /device and /monitor." } };
		const refusal = (await this.#addresses.count(request)) ?? access.checkOrigin(request);
		if (refusal) return { refusal };
		const admission = await access.check(request, [path === "/device" ? "device" : "monitor"]);
		// Asked last: the gateway may have begun to stop while a token was being checked.
		if (admission.refusal) return admission;
		if (this.#isClosed) return { refusal: { status: 503, detail: "The gateway is stopping." } };
		return path === "/monitor" || this.#admitted.take() ? admission : { refusal: crowded() };
	}

	/** Logged, as a device cannot tell anyone why it stays away; but not for each try of who is past the limit. */
	#refuse(request: IncomingMessage, path: string | undefined, socket: Duplex, refusal: HttpRefusal): void {
		const { status, detail } = refusal;
		const event = { remoteAddress: remoteAddressOf(request), path, status, problem: detail };
		this.#options.metrics.refusedUpgrades.inc({ status });
		if (status !== 429 && !(refusal.headers && status === 503))
			this.#options.log.warn(event, "upgrade refused");
		refuse(socket, refusal);
	}

	/** @param owner the one device whose own token was shown */
	#introduction(request: IncomingMessage, owner: string | undefined): Introduction | HttpRefusal {
		const { headers } = request;
		const version = headers["protocol-version"];
		if (version !== undefined && version !== protocolVersion)
			return badHeader("Protocol-Version", { path: "", expected: `must be ${protocolVersion}` });
		const id = headers["device-id"];
		if (id !== undefined && !matches(deviceId, id)) return badHeader("Device-Id", findProblem(deviceId, id));
		if (owner !== undefined && id !== undefined && id !== owner)
			return { status: 403, detail: `This token is for ${owner} alone; Device-Id must be that.` };
		const model = headers["device-model"];
		if (model !== undefined && !matches(modelName, model))
			return badHeader("Device-Model", findProblem(modelName, model));
		return {
			deviceId: id ?? owner,
			isBound: owner !== undefined,
			model,
			chip: chips.find((chip) => chip === headers["device-chip"]),
			remoteAddress: remoteAddressOf(request),
			baseUrl: (this.#options.publicUrl ?? reachedAt(request)).href.replace(/\/+$/, ""),
		};
	}
}

/** Drawn at random, so that those who are refused together do not come back together. */
function crowded(): HttpRefusal {
	const seconds = 1 + Math.floor(Math.random() * 10);
	return {
		status: 503,
		detail: `Too many devices connect at this moment; try again in ${seconds} s.`,
		headers: { "Retry-After": String(seconds) },
	};
}

/**
 * `?batch=` of a monitor's address: milliseconds.
 *
 * @returns undefined where there is none
 */
function readBatch(query: URLSearchParams | undefined): number | undefined | HttpRefusal {
	const text = query?.get("batch");
	if (text === undefined || text === null) return undefined;
	const batchMs = /^\d{1,4}$/.test(text) ? Number(text) : 0;
	if (batchMs >= 20 && batchMs <= 1000) return batchMs;
	return { status: 400, detail: "batch must be a whole number of milliseconds from 20 to 1000." };
}

function badHeader(name: string, problem: Problem | undefined): HttpRefusal {
	return { status: 400, detail: `${name} ${problem?.expected}.` };
}

/** Answers on the bare socket and ends it, whether or not the client ever reads. */
function refuse(socket: Duplex, refusal: HttpRefusal): void {
	const body = problemText(refusal);
	const headers = {
		Connection: "close",
		"Content-Type": problemMediaType,
		"Content-Length": String(Buffer.byteLength(body)),
		...refusal.headers,
	};
	const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
	socket.once("finish", () => socket.destroy());
	socket.end(`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n${lines.join("")}\r\n${body}`);
}

/**
 * Handles WebSocket upgrade requests: authentication, validation and throttling. A rejected request gets an HTTP
 * response, and its connection is closed, since Node no longer handles it.
 */

import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type Server, WebSocketServer } from "ws";
import { chips, deviceId, features } from "../../device/protocol/messages.js";
import {
	describeProblem,
	findProblem,
	matches,
	models,
	object,
	oneOf,
	optional,
} from "../../device/protocol/schema.js";
import type { Access, Admission } from "../access/access.js";
import { baseUrlOf, remoteAddressOf, targetOf } from "../access/origin.js";
import { personRoles } from "../api/person.js";
import type { Base } from "../base.js";
import type { Guard } from "../http/guard.js";
import { closeCodes } from "../limits.js";
import { type HttpRejection, problemOf } from "../problem.js";
import { type Handshake, sharedList } from "../sessions/device.js";
import type { DeviceSockets } from "./device-sockets.js";
import type { Drain } from "./drain.js";
import { startHeartbeat } from "./heartbeat.js";
import type { MonitorSockets } from "./monitor-sockets.js";
import type { DeviceSocketsOptions } from "./options.js";
import { ServerSocket } from "./server-socket.js";

/** Validated headers of a device. `Device-Chip` is not among them, since an unknown chip is accepted. */
export const deviceHeaders = object({
	"Protocol-Version": optional(oneOf("1")),
	"Device-Id": optional(deviceId),
	"Device-Model": optional(oneOf(...models)),
});

const knownPaths: readonly string[] = ["/device", "/monitor"];

export interface UpgradesOptions extends DeviceSocketsOptions, Pick<Base, "settings"> {
	readonly access: Access;
	readonly devices: DeviceSockets;
	readonly monitors: MonitorSockets;
	/** Undefined: connections are not limited. */
	readonly guard: Guard | undefined;
}

/** Adds the socket of an accepted upgrade. */
type Accept = (socket: ServerSocket) => void;

export class Upgrades {
	readonly #options: UpgradesOptions;
	readonly #deviceServer: Server<typeof ServerSocket>;
	readonly #monitorServer: Server<typeof ServerSocket>;
	readonly #revocationTimer: NodeJS.Timeout;
	#drain: Drain | undefined;

	constructor(options: UpgradesOptions) {
		this.#options = options;
		const { limits, access, now } = options;
		const frameLimits = {
			maxPayload: limits.maxFrameBytes,
			maxFragments: limits.maxFragments,
			closeTimeout: limits.closeTimeoutMs,
		};
		const common = { WebSocket: ServerSocket, noServer: true, clientTracking: false, ...frameLimits };
		this.#deviceServer = new WebSocketServer({ ...common, perMessageDeflate: false });
		// Devices without a reachable time server set their clock from it.
		this.#deviceServer.on("headers", (headers) => headers.push(`Date: ${new Date(now()).toUTCString()}`));
		this.#monitorServer = new WebSocketServer({
			...common,
			perMessageDeflate: {
				serverNoContextTakeover: true,
				clientNoContextTakeover: true,
				threshold: limits.compressionThresholdBytes,
				// A window of 8 KB reduces zlib's memory per monitor from 256 to 100 KB.
				serverMaxWindowBits: 13,
				zlibDeflateOptions: { level: 3, memLevel: 7 },
				// Leaves threads of libuv for the file system.
				concurrencyLimit: 2,
			},
		});
		// Removed tokens and expired logins are not reported by events.
		this.#revocationTimer = setInterval(() => void access.endRevoked(), limits.pingIntervalMs).unref();
	}

	/** Handles an `upgrade` event of the HTTP server. @param opening awaited first @throws rejection of `opening` */
	async handle(
		request: IncomingMessage,
		stream: Duplex,
		head: Buffer,
		opening: Promise<void> | undefined,
	): Promise<void> {
		const { access, guard, metrics, yieldToLoop } = this.#options;
		const onError = () => stream.destroy();
		stream.on("error", onError);
		await opening;
		const url = targetOf(request);
		// Cheap check, done first, since most devices of a reconnecting fleet are rejected.
		const isDevice = !this.#drain && url?.pathname === "/device" && access.isKnown(request);
		const throttled = isDevice ? guard?.checkRate() : undefined;
		if (!throttled) await yieldToLoop();
		// Disconnected clients are neither admitted nor counted.
		if (stream.destroyed) return;
		const admission = throttled ?? (await this.#admit(request, stream, url));
		if ("status" in admission) {
			metrics.rejectedUpgrades.inc({ status: admission.status });
			// A reconnecting fleet is not a fault, and would displace other rejections from the list.
			if (admission.status !== 503) this.#reportRejection(request, admission, url?.pathname);
			return sendRejection(stream, admission);
		}
		stream.off("error", onError);
		const server = url?.pathname === "/device" ? this.#deviceServer : this.#monitorServer;
		server.handleUpgrade(request, stream, head, (socket) => {
			socket.stream = stream;
			admission(socket);
		});
	}

	/** Rejects all further upgrades. @param drain when to retry */
	close(drain: Drain): void {
		this.#drain = drain;
		clearInterval(this.#revocationTimer);
	}

	async #check(request: IncomingMessage, path: string | undefined): Promise<Admission> {
		const { access } = this.#options;
		if (path === undefined || !knownPaths.includes(path))
			return {
				rejection: {
					status: 404,
					detail: "No WebSocket endpoint at this path. Connect to /device or /monitor.",
				},
			};
		if (request.headers.host === undefined)
			return { rejection: { status: 400, detail: "The Host header is missing." } };
		const foreignOrigin = access.checkOrigin(request);
		if (foreignOrigin) return { rejection: foreignOrigin };
		return access.check(request, path === "/device" ? ["device"] : personRoles);
	}

	async #admit(
		request: IncomingMessage,
		stream: Duplex,
		url: URL | undefined,
	): Promise<Accept | HttpRejection> {
		const { guard, yieldToLoop, access, monitors, limits } = this.#options;
		const path = url?.pathname;
		const { rejection, deviceId, person } = await this.#check(request, path);
		// Requests that waited for the same read of the tokens file resume in one turn of the event loop.
		await yieldToLoop();
		const finalRejection = guard ? await guard.admit(request, path, rejection) : rejection;
		if (finalRejection) return finalRejection;
		// The gateway may have started to stop meanwhile.
		if (this.#drain) return serviceUnavailable("The gateway is stopping", this.#drain.retrySeconds());
		if (path === "/device" || !person) return this.#acceptDevice(request, deviceId);
		const channels = new Set(url?.searchParams.keys());
		return (socket) => {
			const onEnded = () => socket.close(closeCodes.policyViolation, "login ended");
			const findPerson = async () => {
				const found = await access.personOf(request);
				if (!found) onEnded();
				return found;
			};
			const client = { remoteAddress: remoteAddressOf(request), findPerson };
			monitors.accept(socket, stream, client, channels);
			socket.once("close", access.watch(request, onEnded));
			startHeartbeat(socket, {}, limits.pingIntervalMs, limits.unansweredMonitorPings);
		};
	}

	#acceptDevice(request: IncomingMessage, tokenDeviceId: string | undefined): Accept | HttpRejection {
		const { settings, devices, limits, rejectionOf } = this.#options;
		const handshake = readHandshake(request, settings.publicUrl, tokenDeviceId);
		if ("status" in handshake) return handshake;
		const rejection = handshake.deviceId === undefined ? undefined : rejectionOf(handshake.deviceId);
		if (rejection) return rejection;
		return (socket) =>
			startHeartbeat(
				socket,
				devices.accept(socket, handshake),
				limits.pingIntervalMs,
				limits.unansweredPings,
			);
	}

	/** Logs and lists a rejection, since a device cannot display its reason. */
	#reportRejection(request: IncomingMessage, rejection: HttpRejection, pathname: string | undefined): void {
		const { log, events } = this.#options;
		const { status, detail: problem, headers } = rejection;
		const remoteAddress = remoteAddressOf(request);
		// Rejections with `Retry-After` are not logged, since they are frequent.
		const isTemporary = headers?.["Retry-After"] !== undefined;
		// Unknown paths may contain a pasted token.
		const path = knownPaths.find((known) => known === pathname) ?? "(unknown path)";
		if (!isTemporary) log.warn({ remoteAddress, path, status, problem }, "upgrade rejected");
		if (path !== pathname) return;
		// A dashboard without a login sends no token, and its user is asked to log in.
		if (path === "/monitor" && request.headers.authorization === undefined) return;
		const header = request.headers["device-id"];
		const id = matches(deviceId, header) ? header : undefined;
		const reason = status === 401 ? "Missing or invalid token." : problem;
		events.emit("rejected", { what: "connection", deviceId: id, remoteAddress, reason }, isTemporary);
	}
}

/** @param tokenDeviceId device for which the token is valid; undefined: any */
function readHandshake(
	request: IncomingMessage,
	publicUrl?: URL,
	tokenDeviceId?: string,
): Handshake | HttpRejection {
	const { headers } = request;
	const fields = {
		"Protocol-Version": headers["protocol-version"],
		"Device-Id": headers["device-id"],
		"Device-Model": headers["device-model"],
	};
	if (!matches(deviceHeaders, fields))
		return { status: 400, detail: `${describeProblem(findProblem(deviceHeaders, fields))}.` };
	const { "Device-Id": id = tokenDeviceId, "Device-Model": model } = fields;
	if (tokenDeviceId !== undefined && id !== tokenDeviceId)
		return { status: 403, detail: `This token is valid for ${tokenDeviceId} only. Set Device-Id to it.` };
	return {
		deviceId: id,
		isBound: tokenDeviceId !== undefined,
		model,
		chip: chips.find((chip) => chip === headers["device-chip"]),
		features: sharedList(features.filter((feature) => listOf(headers["device-features"]).includes(feature))),
		remoteAddress: remoteAddressOf(request),
		baseUrl: baseUrlOf(request, publicUrl),
	};
}

/** Parses a comma-separated list; Node joins repeated headers with commas. */
function listOf(header: string | string[] | undefined): readonly string[] {
	return String(header ?? "")
		.split(",")
		.map((entry) => entry.trim());
}

/** Returns a rejection with `Retry-After`. @param reason beginning of the sentence */
export function serviceUnavailable(reason: string, seconds: number): HttpRejection {
	const headers = { "Retry-After": String(seconds) };
	return { status: 503, detail: `${reason}; try again in ${seconds} s.`, headers };
}

/** Sends the response and closes the connection, even if the client does not read. */
function sendRejection(stream: Duplex, rejection: HttpRejection): void {
	const { headers, body } = problemOf({
		...rejection,
		headers: { ...rejection.headers, Connection: "close" },
	});
	const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
	stream.once("finish", () => stream.destroy());
	stream.end(
		`HTTP/1.1 ${rejection.status} ${STATUS_CODES[rejection.status]}\r\n${lines.join("")}\r\n${body}`,
	);
}

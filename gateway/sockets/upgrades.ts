/**
 * Handles upgrade requests. Rejected ones get an HTTP response and are closed, as no other part handles their socket.
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
import type { Heartbeat, Watched } from "./heartbeat.js";
import type { MonitorSockets } from "./monitor-sockets.js";
import type { DeviceSocketsOptions } from "./options.js";
import { ServerSocket } from "./server-socket.js";

/** An unknown chip is not refused. */
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
	readonly heartbeat: Heartbeat;
	/** Undefined: connections are not bounded. */
	readonly guard: Guard | undefined;
}

type Accept = (socket: ServerSocket) => Watched;

export class Upgrades {
	readonly #options: UpgradesOptions;
	readonly #deviceServer: Server<typeof ServerSocket>;
	readonly #monitorServer: Server<typeof ServerSocket>;
	readonly #revoking: NodeJS.Timeout;
	#drain: Drain | undefined;

	constructor(options: UpgradesOptions) {
		this.#options = options;
		const { limits, access, now } = options;
		const bounds = {
			maxPayload: limits.maxFrameBytes,
			maxFragments: limits.maxFragments,
			closeTimeout: limits.closeTimeoutMs,
		};
		const common = { WebSocket: ServerSocket, noServer: true, clientTracking: false, ...bounds };
		this.#deviceServer = new WebSocketServer({ ...common, perMessageDeflate: false });
		// Sets the clock of devices that no time server answers.
		this.#deviceServer.on("headers", (headers) => headers.push(`Date: ${new Date(now()).toUTCString()}`));
		// A window of 8 KB: zlib keeps 100 KB for each monitor, with its default 256. Two at a time, as files share its threads.
		this.#monitorServer = new WebSocketServer({
			...common,
			perMessageDeflate: {
				serverNoContextTakeover: true,
				clientNoContextTakeover: true,
				threshold: limits.compressedFromBytes,
				serverMaxWindowBits: 13,
				zlibDeflateOptions: { level: 3, memLevel: 7 },
				concurrencyLimit: 2,
			},
		});
		// A token that was removed, and a login that expires, are no events.
		this.#revoking = setInterval(() => void access.endRevoked(), limits.pingIntervalMs).unref();
	}

	/** For each `upgrade` event of the HTTP server. @param opening awaited first @throws its error */
	async handle(
		request: IncomingMessage,
		stream: Duplex,
		head: Buffer,
		opening: Promise<void> | undefined,
	): Promise<void> {
		const { access, guard, metrics, heartbeat, yieldToLoop } = this.#options;
		const onError = () => stream.destroy();
		stream.on("error", onError);
		await opening;
		const url = targetOf(request);
		// Checked first, at little cost: most devices of a returning fleet are refused.
		const isDevice = !this.#drain && url?.pathname === "/device" && access.isKnown(request);
		const crowded = isDevice ? guard?.look() : undefined;
		if (!crowded) await yieldToLoop();
		// A client that is gone does not count.
		if (stream.destroyed) return;
		const admission = crowded ?? (await this.#admit(request, stream, url));
		if ("status" in admission) {
			metrics.rejectedUpgrades.inc({ status: admission.status });
			// A fleet that returns at once is no fault of any device, and would displace the refusals of others.
			if (admission.status !== 503) this.#report(request, admission, url?.pathname);
			return refuse(stream, admission);
		}
		stream.off("error", onError);
		const server = url?.pathname === "/device" ? this.#deviceServer : this.#monitorServer;
		server.handleUpgrade(request, stream, head, (socket) => {
			socket.stream = stream;
			heartbeat.watch(socket, admission(socket));
		});
	}

	/** Refuses all further upgrades. */
	close(reason: Drain): void {
		this.#drain = reason;
		clearInterval(this.#revoking);
	}

	async #check(request: IncomingMessage, path: string | undefined): Promise<Admission> {
		const { access } = this.#options;
		if (path === undefined || !knownPaths.includes(path))
			return { rejection: { status: 404, detail: "WebSockets are at /device and /monitor." } };
		if (request.headers.host === undefined)
			return { rejection: { status: 400, detail: "The Host header is missing." } };
		const foreign = access.checkOrigin(request);
		if (foreign) return { rejection: foreign };
		return access.check(request, path === "/device" ? ["device"] : personRoles);
	}

	async #admit(
		request: IncomingMessage,
		stream: Duplex,
		url: URL | undefined,
	): Promise<Accept | HttpRejection> {
		const { guard, yieldToLoop, access, monitors } = this.#options;
		const path = url?.pathname;
		const { rejection, deviceId, person } = await this.#check(request, path);
		// Requests that share one read of the tokens resume in the same turn.
		await yieldToLoop();
		const refused = guard ? await guard.admit(request, path, rejection) : rejection;
		if (refused) return refused;
		// The gateway may have begun to stop meanwhile.
		if (this.#drain) return tryAgain("The gateway is stopping", this.#drain.drawSeconds());
		if (path === "/device" || !person) return this.#acceptDevice(request, deviceId);
		const channels = new Set(url?.searchParams.keys());
		const client = { person, remoteAddress: remoteAddressOf(request) };
		return (socket) => {
			const monitor = monitors.accept(socket, stream, client, channels);
			const onEnded = () => monitor.close(closeCodes.policyViolation, "its login has ended");
			socket.once("close", access.watch(request, onEnded));
			return monitor;
		};
	}

	#acceptDevice(request: IncomingMessage, owner: string | undefined): Accept | HttpRejection {
		const { settings, devices, rejectionOf } = this.#options;
		const handshake = readHandshake(request, settings.publicUrl, owner);
		if ("status" in handshake) return handshake;
		const detail = handshake.deviceId === undefined ? undefined : rejectionOf(handshake.deviceId);
		if (detail !== undefined) return { status: 410, detail };
		return (socket) => devices.accept(socket, handshake);
	}

	/** A device cannot show why it is refused. */
	#report(request: IncomingMessage, rejection: HttpRejection, pathname: string | undefined): void {
		const { log, sessions } = this.#options;
		const { status, detail: problem, headers } = rejection;
		const remoteAddress = remoteAddressOf(request);
		// Rejections with `Retry-After` would fill the log.
		const isTemporary = headers?.["Retry-After"] !== undefined;
		// Other paths may hold a token that a person pasted.
		const path = knownPaths.find((known) => known === pathname) ?? "(unknown path)";
		if (!isTemporary) log.warn({ remoteAddress, path, status, problem }, "upgrade refused");
		if (path !== pathname) return;
		// A page without a login shows no token: its person logs in.
		if (path === "/monitor" && request.headers.authorization === undefined) return;
		const named = request.headers["device-id"];
		const id = matches(deviceId, named) ? named : undefined;
		const reason = status === 401 ? "It shows no valid token." : problem;
		sessions.refuse({ what: "connection", deviceId: id, remoteAddress, reason }, isTemporary);
	}
}

/** @param owner the token's device */
function readHandshake(request: IncomingMessage, publicUrl?: URL, owner?: string): Handshake | HttpRejection {
	const { headers } = request;
	const said = {
		"Protocol-Version": headers["protocol-version"],
		"Device-Id": headers["device-id"],
		"Device-Model": headers["device-model"],
	};
	if (!matches(deviceHeaders, said))
		return { status: 400, detail: `${describeProblem(findProblem(deviceHeaders, said))}.` };
	const { "Device-Id": named = owner, "Device-Model": model } = said;
	if (owner !== undefined && named !== owner)
		return { status: 403, detail: `This token is for ${owner} alone; Device-Id must be that.` };
	return {
		deviceId: named,
		isBound: owner !== undefined,
		model,
		chip: chips.find((chip) => chip === headers["device-chip"]),
		features: sharedList(features.filter((feature) => listOf(headers["device-features"]).includes(feature))),
		remoteAddress: remoteAddressOf(request),
		baseUrl: baseUrlOf(request, publicUrl),
	};
}

/** Node joins headers of one name with commas. */
function listOf(header: string | string[] | undefined): readonly string[] {
	return String(header ?? "")
		.split(",")
		.map((entry) => entry.trim());
}

/** @param why begins the sentence */
export function tryAgain(why: string, seconds: number): HttpRejection {
	const headers = { "Retry-After": String(seconds) };
	return { status: 503, detail: `${why}; try again in ${seconds} s.`, headers };
}

/** Responds and closes, even if the client does not read. */
function refuse(stream: Duplex, rejection: HttpRejection): void {
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

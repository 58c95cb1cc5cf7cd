/** HTTP server with or without TLS: timeouts, listening, ignored upgrades, and closing. */

import { once } from "node:events";
import {
	createServer,
	type IncomingMessage,
	type RequestListener,
	type Server,
	type ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import { networkInterfaces } from "node:os";
import type { Duplex } from "node:stream";
import { parseGatewayUrl } from "../../device/network/gateway-url.js";
import { commands } from "../../device/protocol/messages.js";
import { matches } from "../../device/protocol/schema.js";
import { hostOf, trimmed } from "../access/origin.js";
import type { SocketLimits } from "../limits.js";
import { errorCode, StartError } from "../problem.js";
import type { Settings } from "../settings.js";

const gatewaySetting = commands.set_settings.fields.value.fields.gateway;

/** Creates a server with timeouts; `listen` starts it. */
export function createHttpServer(
	isTls: boolean,
	{ requestHeadersMs: headersMs, stalledMs, keepAliveMs }: SocketLimits,
	listener: RequestListener,
): Server {
	// No requestTimeout, since it would apply to uploads, too; readBody and watchProgress limit the time of a body.
	const timeouts = {
		headersTimeout: headersMs,
		requestTimeout: 0,
		keepAliveTimeout: keepAliveMs,
		connectionsCheckingInterval: headersMs / 2,
	};
	const server = isTls
		? createTlsServer({ ...timeouts, handshakeTimeout: headersMs }, listener)
		: createServer(timeouts, listener);
	return server.setTimeout(stalledMs);
}

/** Sets the idle timeout of a connection after a response. Node restores the server's at the next request. */
export function keepAlive({ socket }: IncomingMessage, response: ServerResponse, idleMs: number): void {
	// Follows Node's own listener, which sets keepAliveTimeout.
	response.on("finish", () => socket.setTimeout(idleMs));
}

/** Minimum progress of an upload per window, 4.4 kbit/s. */
const progressBytes = 16 * 1024;
const progressMs = 30_000;

/**
 * Monitors the progress of an upload.
 * @param onStalled called after each 30 s with less than 16 KiB, until the body is complete
 * @returns function that stops it
 */
export function watchProgress(request: IncomingMessage, onStalled: () => void): () => void {
	const { socket } = request;
	let before = socket.bytesRead;
	const timer = setInterval(() => {
		const bytes = socket.bytesRead;
		if (bytes - before < progressBytes && !request.complete) onStalled();
		before = bytes;
	}, progressMs).unref();
	return () => clearInterval(timer);
}

/**
 * Maximum number of connections waiting to be accepted. Node accepts all of them in one turn of the event loop, which
 * delays reports: while a fleet reconnects, their p99 latency is 5 to 7 ms, and 10 ms with Node's default of 511
 * (`npm run bench -- restart`). Kernels of rejected clients retry after 1 s (RFC 6298).
 */
const backlog = 256;

/**
 * Starts listening.
 * @returns URL on this machine, and port
 * @throws {StartError} if the address is unusable
 */
export async function listen(server: Server, { host, port, tls }: Settings) {
	server.listen(port, host, backlog);
	try {
		await once(server, "listening");
	} catch (error) {
		throw listenError(error, host, port);
	}
	const address = server.address();
	const actualPort = typeof address === "object" && address ? address.port : port;
	const isAnyAddress = host === "0.0.0.0" || host === "::";
	const authority = `${hostOf(isAnyAddress ? "127.0.0.1" : host)}:${actualPort}`;
	return { url: `${tls ? "https" : "http"}://${authority}`, port: actualPort };
}

/**
 * Returns the addresses at which devices reach the gateway: that of PUBLIC_URL if it is set, otherwise that of HOST, or
 * those of all network interfaces for a wildcard address.
 *
 * @throws {StartError} if the firmware does not support an address, such as a literal IPv6 address
 */
export function deviceAddresses(
	{ host, tls, publicUrl }: Pick<Settings, "host" | "tls" | "publicUrl">,
	port: number,
): readonly string[] {
	const addresses = publicUrl
		? [`${trimmed(publicUrl).replace("http", "ws")}/device`]
		: hostsOf(host).map((address) => `${tls ? "wss" : "ws"}://${hostOf(address)}:${port}/device`);
	for (const address of addresses) {
		if (isValidGatewayAddress(address)) continue;
		throw new StartError(
			`${publicUrl ? "PUBLIC_URL" : "HOST"} results in the address ${address}, which devices do not support. Set PUBLIC_URL to a URL of at most ${gatewaySetting.maxLength} characters whose host is an IPv4 address or a name of letters, digits, dots and hyphens.`,
		);
	}
	return addresses;
}

/** Whether devices accept the address as their setting `gateway`. */
function isValidGatewayAddress(address: string): boolean {
	try {
		parseGatewayUrl(address);
		return matches(gatewaySetting, address);
	} catch {
		return false;
	}
}

function hostsOf(host: string): readonly string[] {
	if (host !== "0.0.0.0" && host !== "::") return [host];
	const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
	return addresses
		.filter(({ internal, family }) => !internal && family === "IPv4")
		.map(({ address }) => address);
}

/** Whether a request is for an upgrade to WebSocket (RFC 6455, 4.2.1). */
export function isWebSocketUpgrade({ headers }: IncomingMessage): boolean {
	return headers.upgrade?.toLowerCase() === "websocket";
}

const upgradeHeaders = ["connection", "upgrade", "http2-settings"];

/**
 * Handles a request for another upgrade without upgrading (RFC 9110, 7.8), such as for h2c, which `curl --http2`
 * requests. Node has detached the socket with the body unread, so the server parses the request again without the
 * upgrade headers.
 */
export function ignoreUpgrade(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
	const { method, url, httpVersion, rawHeaders, headers } = request;
	const lines = [`${method} ${url} HTTP/${httpVersion}`];
	for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
		const name = rawHeaders[i] ?? "";
		if (!upgradeHeaders.includes(name.toLowerCase())) lines.push(`${name}: ${rawHeaders[i + 1]}`);
	}
	if (/\bclose\b/i.test(headers.connection ?? "")) lines.push("Connection: close");
	socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
	server.emit("encrypted" in socket ? "secureConnection" : "connection", socket);
}

/** Closes the server. Resolves after all connections are closed, which are destroyed after `timeoutMs`. */
export async function closeServer(server: Server, timeoutMs: number): Promise<void> {
	const closed = new Promise<void>((resolve) => server.close(() => resolve()));
	server.closeIdleConnections();
	const timer = setTimeout(() => server.closeAllConnections(), timeoutMs);
	await closed;
	clearTimeout(timer);
}

function listenError(error: unknown, host: string, port: number): unknown {
	const where = `${hostOf(host)}:${port}`;
	switch (errorCode(error)) {
		case "EADDRINUSE":
			return new StartError(`${where} is in use by another program. Stop it, or set PORT to a free port.`);
		case "EACCES":
			return new StartError(`This user is not allowed to listen on ${where}. Set PORT to 1024 or above.`);
		case "EADDRNOTAVAIL":
		case "EINVAL":
		case "ENOTFOUND":
		case "EAI_AGAIN":
			return new StartError(
				`HOST ${host} is not an address of this machine. Set it to one, or to 0.0.0.0 for all.`,
			);
		default:
			return error;
	}
}

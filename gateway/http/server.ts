/** The HTTP server, plain or with TLS: timeouts, listening, ignored upgrades, and closing. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { networkInterfaces } from "node:os";
import type { Duplex } from "node:stream";
import { parseGatewayUrl } from "../../device/network/gateway-url.js";
import { commands } from "../../device/protocol/messages.js";
import { matches } from "../../device/protocol/schema.js";
import { hostOf, trimmed } from "../access/origin.js";
import { errorCode, StartError } from "../problem.js";
import type { Settings } from "../settings.js";

const gatewaySetting = commands.set_settings.fields.value.fields.gateway;

/**
 * @param headersMs limit for the TLS handshake, and for the headers of a request
 * @param stalledMs limit for a connection that neither sends nor reads
 */
export function createHttpServer(
	isTls: boolean,
	headersMs: number,
	stalledMs: number,
	listener: RequestListener,
): Server {
	// A slow upload may take longer: see limitBody.
	const timeouts = {
		headersTimeout: headersMs,
		requestTimeout: 0,
		connectionsCheckingInterval: headersMs / 2,
	};
	const server = isTls
		? createTlsServer({ ...timeouts, handshakeTimeout: headersMs }, listener)
		: createServer(timeouts, listener);
	return server.setTimeout(stalledMs);
}

const cuts = new WeakMap<IncomingMessage, NodeJS.Timeout>();

/** Cuts off a request with a slow body. Node's requestTimeout is for uploads too. */
export function limitBody(request: IncomingMessage, bodyMs: number): void {
	const { headers } = request;
	const hasBody = headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
	if (!hasBody) return;
	const cut = setTimeout(() => request.complete || request.destroy(), bodyMs).unref();
	cuts.set(request, cut);
	request.once("close", () => clearTimeout(cut));
}

/** For an upload, whose progress its route watches. */
export function allowSlowBody(request: IncomingMessage): void {
	clearTimeout(cuts.get(request));
}

/**
 * Connections that wait to be accepted. Node accepts them all in one turn of its event loop, for which the reports of other
 * devices wait: while a fleet returns, their p99 is 5 to 7 ms, and with Node's own 511 it was 10 ms (bench -- restart).
 * A client's kernel tries the rest again after 1 s (RFC 6298).
 */
const backlog = 256;

/**
 * @returns URL and port, as seen from this machine
 * @throws {StartError} if the address cannot be used
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
 * The addresses at which devices reach the gateway: that of PUBLIC_URL; without it those on which the gateway listens, for a
 * wildcard address one for each network interface.
 *
 * @throws {StartError} if the firmware cannot parse one, such as with a literal IPv6 address
 */
export function deviceAddresses(
	{ host, tls, publicUrl }: Pick<Settings, "host" | "tls" | "publicUrl">,
	port: number,
): readonly string[] {
	const addresses = publicUrl
		? [`${trimmed(publicUrl).replace("http", "ws")}/device`]
		: hostsOf(host).map((each) => `${tls ? "wss" : "ws"}://${hostOf(each)}:${port}/device`);
	for (const address of addresses) {
		if (isForDevices(address)) continue;
		throw new StartError(
			`${publicUrl ? "PUBLIC_URL" : "HOST"} makes ${address} the address for devices, which they cannot use. Set PUBLIC_URL to one of at most ${gatewaySetting.maxLength} characters whose host is an IPv4 address, or a name of letters, digits, dots and hyphens.`,
		);
	}
	return addresses;
}

/** Whether a device takes it as its setting `gateway`. */
function isForDevices(address: string): boolean {
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

/** RFC 6455, 4.2.1. */
export function isWebSocketUpgrade({ headers }: IncomingMessage): boolean {
	return headers.upgrade?.toLowerCase() === "websocket";
}

const upgradeHeaders = ["connection", "upgrade", "http2-settings"];

/**
 * Handles an upgrade request as an ordinary one (RFC 9110, 7.8): `curl --http2` asks for h2c with each request. Node
 * has detached it with its body unread, so the server reads it again without those headers.
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

/** Resolves once all connections are closed; cuts off the rest after `timeoutMs`. */
export async function end(server: Server, timeoutMs: number): Promise<void> {
	const closed = new Promise<void>((resolve) => server.close(() => resolve()));
	server.closeIdleConnections();
	const cut = setTimeout(() => server.closeAllConnections(), timeoutMs);
	await closed;
	clearTimeout(cut);
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

/**
 * The HTTP server below everything: plain or with TLS, what may keep it from listening, and how it ends.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Duplex } from "node:stream";
import { hostOf, targetOf } from "./access/origin.js";
import type { Settings } from "./settings.js";
import { errorCode, StartError } from "./start-error.js";

/**
 * @param headersMs a client that connects and does not finish its handshake or headers in that time is cut off
 * @param stalledMs one that neither sends nor reads for so long, likewise
 * @throws StartError where the certificate cannot be used
 */
export function createHttpServer(
	tls: Settings["tls"],
	headersMs: number,
	stalledMs: number,
	listener: RequestListener,
): Server {
	// A slow upload may take longer than any one time for all requests: see limitBody.
	const timeouts = {
		headersTimeout: headersMs,
		requestTimeout: 0,
		connectionsCheckingInterval: headersMs / 2,
	};
	if (!tls) return createServer(timeouts, listener).setTimeout(stalledMs);
	try {
		const options = { ...timeouts, ...tls, handshakeTimeout: headersMs };
		return createTlsServer(options, listener).setTimeout(stalledMs);
	} catch (error) {
		const why = error instanceof Error ? error.message : "unknown";
		throw new StartError(
			`TLS_CERT and TLS_KEY cannot be used (${why}); set them to a certificate and its key in PEM.`,
		);
	}
}

/**
 * Cuts off a request whose body has not come within `bodyMs`, but not an upload, which is watched by its progress: Node's
 * requestTimeout is one time for both.
 */
export function limitBody(request: IncomingMessage, bodyMs: number): void {
	const { headers } = request;
	const hasBody = headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
	if (!hasBody || targetOf(request)?.pathname === "/ota/upload") return;
	const cut = setTimeout(() => request.complete || request.destroy(), bodyMs).unref();
	request.once("close", () => clearTimeout(cut));
}

/**
 * @returns where this server is reached from this machine, and its port
 * @throws StartError where the address cannot be had
 */
export async function listen(server: Server, { host, port, tls }: Settings) {
	server.listen(port, host);
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

/** Whether a client asks for a WebSocket (RFC 6455, 4.2.1), and not for another protocol. */
export function isForWebSocket({ headers }: IncomingMessage): boolean {
	return headers.upgrade?.toLowerCase() === "websocket";
}

/** Headers that ask for another protocol. */
const upgradeHeaders = ["connection", "upgrade", "http2-settings"];

/**
 * Answers a request to upgrade as if it did not ask for that, as a server may (RFC 9110, 7.8): `curl --http2` asks for h2c
 * with each request. Node has taken it off the connection with its body unread; so the server reads it again without
 * those headers.
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

/** Lets no one in any more and waits until everyone has gone; who has not after `timeoutMs` is cut off. */
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
			return new StartError(`${where} is in use by another program; stop that, or set PORT to a free port.`);
		case "EACCES":
			return new StartError(`This user may not listen on ${where}; set PORT to 1024 or above.`);
		case "EADDRNOTAVAIL":
		case "EINVAL":
		case "ENOTFOUND":
		case "EAI_AGAIN":
			return new StartError(
				`HOST is ${host}, which is no address of this machine; set it to one, or to 0.0.0.0 for all.`,
			);
		default:
			return error;
	}
}

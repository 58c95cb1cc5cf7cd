/**
 * The HTTP server below everything: plain or with TLS, what may keep it from listening, and how it ends.
 */

import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { hostOf } from "./access/origin.js";
import type { Settings } from "./settings.js";
import { errorCode, StartError } from "./start-error.js";

/**
 * @param headersMs a client that connects and does not finish its handshake or headers in that time is cut off
 * @throws StartError where the certificate cannot be used
 */
export function createHttpServer(tls: Settings["tls"], headersMs: number, listener: RequestListener): Server {
	const timeouts = { headersTimeout: headersMs, connectionsCheckingInterval: headersMs / 2 };
	if (!tls) return createServer(timeouts, listener);
	try {
		return createTlsServer({ ...timeouts, ...tls, handshakeTimeout: headersMs }, listener);
	} catch (error) {
		const why = error instanceof Error ? error.message : "unknown";
		throw new StartError(
			`TLS_CERT and TLS_KEY cannot be used (${why}); set them to a certificate and its key in PEM.`,
		);
	}
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

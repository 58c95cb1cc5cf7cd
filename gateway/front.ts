/** Where connections enter: the HTTP server, with what is checked of a request or an upgrade before anyone answers it. */

import type { RequestListener, Server } from "node:http";
import type { Logger } from "pino";
import type { Access } from "./access/access.js";
import { readForwarded } from "./access/origin.js";
import type { Connections } from "./connections.js";
import type { Binaries } from "./firmware/binaries.js";
import { requireProxyHeaders } from "./proxy-protocol.js";
import { createHttpServer, ignoreUpgrade, isForWebSocket, limitBody } from "./server.js";
import type { Settings } from "./settings.js";
import type { SocketLimits } from "./sockets/limits.js";
import type { Upgrades } from "./sockets/upgrades.js";

export interface FrontOptions {
	readonly settings: Settings;
	readonly limits: SocketLimits;
	readonly connections: Connections;
	readonly access: Pick<Access, "isKnown">;
	/** Answers before `app`. */
	readonly binaries: Binaries;
	readonly app: RequestListener;
	readonly upgrades: Upgrades;
	/** What requests wait for; undefined once the data is loaded. */
	readonly opening: () => Promise<void> | undefined;
	readonly log: Pick<Logger, "warn" | "error">;
}

/** @returns a server that does not listen yet */
export function createFront(options: FrontOptions): Server {
	const { settings, limits, connections, access, binaries, app, upgrades, opening, log } = options;
	const { tls, trustProxy, proxyProtocol } = settings;
	const server = createHttpServer(
		tls,
		limits.requestHeadersMs,
		limits.stalledMs,
		async (request, response) => {
			const ready = connections.take(request, response, access.isKnown(request));
			if (trustProxy) readForwarded(request, trustProxy);
			limitBody(request, limits.requestBodyMs);
			const isOpen = opening();
			if (isOpen) await isOpen.catch(() => response.destroy());
			if (ready) await ready;
			if (!response.destroyed && !binaries(request, response)) app(request, response);
		},
	);
	connections.watch(server, tls !== undefined);
	if (proxyProtocol)
		requireProxyHeaders(server, {
			isProxy: proxyProtocol,
			headerMs: limits.requestHeadersMs,
			onRefused: (remoteAddress, problem) => log.warn({ remoteAddress, problem }, "connection refused"),
		});
	server.on("upgrade", (request, socket, received) => {
		const head = connections.release(socket, received);
		if (!isForWebSocket(request)) return ignoreUpgrade(server, request, socket, head);
		if (trustProxy) readForwarded(request, trustProxy);
		upgrades.handle(request, socket, head, opening()).catch((error: unknown) => {
			log.error({ err: error }, "upgrade failed");
			socket.destroy();
		});
	});
	return server;
}

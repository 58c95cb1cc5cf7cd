/** The entry of connections: the HTTP server, with the checks of a request or an upgrade before it is answered. */

import type { RequestListener, Server } from "node:http";
import type { Logger } from "pino";
import type { Access } from "../access/access.js";
import { readForwarded } from "../access/origin.js";
import type { Binaries } from "../firmware/binaries.js";
import type { Settings } from "../settings.js";
import type { SocketLimits } from "../sockets/limits.js";
import type { Upgrades } from "../sockets/upgrades.js";
import type { Guard } from "./guard.js";
import { createHttpServer, ignoreUpgrade, isForWebSocket, limitBody } from "./server.js";

export interface FrontOptions {
	readonly settings: Settings;
	readonly limits: SocketLimits;
	/** Undefined: connections are not bounded. */
	readonly guard: Guard | undefined;
	readonly access: Pick<Access, "isKnown">;
	/** Answers before `app`. */
	readonly binaries: Binaries;
	readonly app: RequestListener;
	readonly upgrades: Upgrades;
	/** Requests wait for it; undefined once the data is loaded. */
	readonly opening: () => Promise<void> | undefined;
	readonly log: Pick<Logger, "error">;
}

/** @returns a server that does not listen yet */
export function createFront(options: FrontOptions): Server {
	const { settings, limits, guard, access, binaries, app, upgrades, opening, log } = options;
	const { tls, trustProxy } = settings;
	const server = createHttpServer(
		tls,
		limits.requestHeadersMs,
		limits.stalledMs,
		async (request, response) => {
			const ready = guard?.onRequest(request, response, access.isKnown(request));
			if (trustProxy) readForwarded(request, trustProxy);
			limitBody(request, limits.requestBodyMs);
			const isOpen = opening();
			if (isOpen) await isOpen.catch(() => response.destroy());
			if (ready) await ready;
			if (!response.destroyed && !binaries(request, response)) app(request, response);
		},
	);
	guard?.watch(server, tls !== undefined);
	server.on("upgrade", (request, socket, received) => {
		const head = guard?.release(socket, received) ?? received;
		if (!isForWebSocket(request)) return ignoreUpgrade(server, request, socket, head);
		if (trustProxy) readForwarded(request, trustProxy);
		upgrades.handle(request, socket, head, opening()).catch((error: unknown) => {
			log.error({ err: error }, "upgrade failed");
			socket.destroy();
		});
	});
	return server;
}

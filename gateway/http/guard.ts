/** Hooks that limit the cost of connections, from the first byte to the upgrade. */

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { HttpRejection } from "../problem.js";

/** At most one extension has one. */
export interface Guard {
	/** Called before the server listens. */
	watch(server: Server, isTls: boolean): void;
	/** @param isKnown whether the request shows a valid token @returns to be awaited before the response, if anything */
	onRequest(request: IncomingMessage, response: ServerResponse, isKnown: boolean): Promise<void> | undefined;
	/** @returns all bytes after the request of an upgrade */
	release(stream: Duplex, head: Buffer): Buffer;
	/** A request has shown a valid token or login. */
	onAdmitted(request: IncomingMessage): void;
	/** @returns why a device with a valid token is refused before anything else is checked */
	look(): HttpRejection | undefined;
	/** @param rejection why an upgrade is refused, if it is @returns the rejection to send; undefined: it may enter */
	admit(
		request: IncomingMessage,
		path: string | undefined,
		rejection: HttpRejection | undefined,
	): Promise<HttpRejection | undefined>;
	/** The gateway stops. */
	close(): void;
}

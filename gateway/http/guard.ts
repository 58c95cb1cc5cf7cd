/** Hooks that limit the resources of connections, from the first byte to the upgrade. */

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { HttpRejection } from "../problem.js";

/** Provided by at most one extension. */
export interface Guard {
	/** Limits the connections of a server. Called before it listens. */
	watch(server: Server, isTls: boolean): void;
	/**
	 * @param isKnown whether the request has a valid token
	 * @returns promise to await before the response; undefined: no delay
	 */
	onRequest(request: IncomingMessage, response: ServerResponse, isKnown: boolean): Promise<void> | undefined;
	/** Stops limiting an upgraded connection. @returns all bytes received after the request */
	release(stream: Duplex, head: Buffer): Buffer;
	/** Called after a request was authenticated. */
	onAdmitted(request: IncomingMessage): void;
	/** Returns the rejection of an authenticated device above the rate limit; checked before everything else. */
	checkRate(): HttpRejection | undefined;
	/**
	 * Counts an upgrade.
	 * @param rejection its rejection so far
	 * @returns rejection to send; undefined: the upgrade is accepted
	 */
	admit(
		request: IncomingMessage,
		path: string | undefined,
		rejection: HttpRejection | undefined,
	): Promise<HttpRejection | undefined>;
	/** Called when the gateway stops. */
	close(): void;
}

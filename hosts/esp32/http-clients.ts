/** The SDK's HTTP client, over TCP and over TLS, as the firmware's update takes it. */

import HTTPClient, { type HTTPRequest } from "embedded:network/http/client";
import { authorityOf, compiledAuthority } from "board/certificates";
import { SafeTCP } from "board/safe-tcp";
import { SafeTLS } from "board/safe-tls";
import type { HttpClientOptions, HttpRequestOptions } from "../../device/host.js";
import type { SocketOptions } from "../moddable/steady-socket.js";

/**
 * Ends at a body in chunks. The SDK reads the later ones from a timer, where an exception restarts the board, and it throws
 * at every chunk that is not as it should be. Whoever closes in onHeaders, as one does at a status of no use, is spared it.
 */
class WholeBodyClient extends HTTPClient {
	#isClosed = false;

	override request(options: HttpRequestOptions): HTTPRequest {
		return super.request({
			...options,
			onHeaders: (status, headers) => {
				options.onHeaders(status, headers);
				if (!this.#isClosed && headers.has("transfer-encoding")) throw new Error("a body in chunks");
			},
		});
	}

	override close(): void {
		this.#isClosed = true;
		super.close();
	}
}

const overTCP = Object.freeze({ io: SafeTCP });

export class PlainHttp extends WholeBodyClient {
	constructor(options: HttpClientOptions) {
		super({ ...options, socket: overTCP });
	}
}

export interface SecureHttpOptions extends HttpClientOptions {
	/** PEM of the certificate authority; undefined: the one that was compiled in. */
	readonly certificate: string | undefined;
}

export class SecureHttp extends WholeBodyClient {
	/** @throws Error where `certificate` is none */
	constructor({ certificate: pem, ...options }: SecureHttpOptions) {
		const certificate = pem === undefined ? compiledAuthority() : authorityOf(pem);
		const io = class extends SafeTLS {
			constructor(socketOptions: SocketOptions) {
				super({ ...socketOptions, certificate });
			}
		};
		super({ ...options, socket: { io } });
	}
}

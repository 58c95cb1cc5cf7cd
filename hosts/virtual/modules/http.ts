/** The SDK's HTTP client on this host's sockets: plain, and over TLS. */

import type { HttpClientOptions, TrustOptions } from "../../../device/host.js";
import { HttpClient, type HttpSocketOptions } from "./http-client.js";
import TcpSocket from "./tcp-socket.js";

export class PlainHttp extends HttpClient {
	constructor(options: HttpClientOptions) {
		super(options, TcpSocket);
	}
}

export class SecureHttp extends HttpClient {
	/** Without `certificate` the authorities that Node knows are trusted. */
	constructor({ certificate, ...options }: HttpClientOptions & TrustOptions) {
		const secure = { certificate };
		super(
			options,
			class extends TcpSocket {
				constructor(socketOptions: HttpSocketOptions) {
					super({ ...socketOptions, secure });
				}
			},
		);
	}
}

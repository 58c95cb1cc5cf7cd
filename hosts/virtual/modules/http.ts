/** The SDK's HTTP client on this host's sockets: plain, and over TLS. */

import type { HttpClientOptions } from "../../../device/host.js";
import { HttpClient, type HttpSocketOptions } from "./http-client.js";
import TcpSocket from "./tcp-socket.js";

export class PlainHttp extends HttpClient {
	constructor(options: HttpClientOptions) {
		super(options, TcpSocket);
	}
}

export class SecureHttp extends HttpClient {
	/** Without `certificate` (PEM) it is the authorities that Node knows which count. */
	constructor(options: HttpClientOptions & { certificate: string | undefined }) {
		const secure = options.certificate === undefined ? {} : { certificate: options.certificate };
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

/** The SDK's HTTP client, over TCP and over TLS, as the firmware's update takes it. */

import TCP from "embedded:io/socket/tcp";
import { authorityOf, SafeTLS } from "board/safe-tls";
import { WholeBodyClient } from "moddable/whole-body-client";
import type { HttpClientOptions, TrustOptions } from "../../device/host.js";
import type { SocketOptions } from "../moddable/steady-socket.js";

const overTCP = Object.freeze({ io: TCP });

export class PlainHttp extends WholeBodyClient {
	constructor(options: HttpClientOptions) {
		super({ ...options, socket: overTCP });
	}
}

export class SecureHttp extends WholeBodyClient {
	/** @throws SyntaxError where `certificate` is not base64 */
	constructor({ certificate: base64, ...options }: HttpClientOptions & TrustOptions) {
		const certificate = authorityOf(base64);
		const io = class extends SafeTLS {
			constructor(socketOptions: SocketOptions) {
				super({ ...socketOptions, certificate });
			}
		};
		super({ ...options, socket: { io } });
	}
}

/** The SDK's HTTP client, over TCP and over TLS, as the firmware's update takes it. */

import { authorityOf, compiledAuthority } from "board/certificates";
import { SafeTCP } from "board/safe-tcp";
import { SafeTLS } from "board/safe-tls";
import { WholeBodyClient } from "moddable/whole-body-client";
import type { HttpClientOptions } from "../../device/host.js";
import type { SocketOptions } from "../moddable/steady-socket.js";

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

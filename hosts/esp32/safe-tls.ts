/**
 * The SDK's TLS 1.2 between two guards: SafeTCP below it, for what it throws itself, and one above it, for what its owner
 * throws into its callbacks. No session is ever resumed: the SDK keeps one by the server's name alone, and would resume it
 * without asking whether the certificate authority is still the same.
 */

import TLSSocket from "embedded:io/socket/tcp/tls";
import { SafeTCP } from "board/safe-tcp";
import { guardCallbacks } from "board/socket-guard";
import type { SocketOptions } from "../moddable/steady-socket.js";

export interface SafeTLSOptions extends SocketOptions {
	/** The certificate authority, as DER; undefined: nobody is trusted. */
	readonly certificate: ArrayBuffer | Uint8Array | undefined;
}

export class SafeTLS extends TLSSocket {
	constructor(options: SafeTLSOptions) {
		const { address, host, port, certificate } = options;
		super({
			address,
			host,
			port,
			...guardCallbacks<unknown>(options, trace),
			TCP: { io: SafeTCP },
			secure: certificate === undefined ? { cache: false } : { certificate, cache: false },
		});
	}
}

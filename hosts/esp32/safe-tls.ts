/**
 * The SDK's TLS 1.2 between two guards: that of TCP (tcp/tcp.ts) for what it throws itself, and one above it for what its owner
 * throws into its callbacks. No session is ever resumed: the SDK keeps one by the server's name alone, and would resume it
 * without asking whether the certificate authority is still the same.
 */

import TCP from "embedded:io/socket/tcp";
import TLSSocket from "embedded:io/socket/tcp/tls";
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
			TCP: { io: TCP },
			secure: certificate === undefined ? { cache: false } : { certificate, cache: false },
		});
	}
}

/**
 * @param certificate DER in base64
 * @returns the authority as SafeTLS takes it
 * @throws SyntaxError where it is not base64
 */
export function authorityOf(certificate: string | undefined): Uint8Array | undefined {
	return certificate === undefined ? undefined : Uint8Array.fromBase64(certificate);
}

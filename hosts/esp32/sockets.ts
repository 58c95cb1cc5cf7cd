/** TLS 1.2 of the SDK over TCP. */

import TCP from "embedded:io/socket/tcp";
import TLSSocket from "embedded:io/socket/tcp/tls";
import type { Socket, SocketOptions } from "../../device/host.js";

/** Sessions are not resumed: the SDK looks them up by server name alone and does not check the authority again. */
export class SecureSocket extends TLSSocket implements Socket {
	/** Trusts no server without a certificate. @throws SyntaxError if the certificate is not base64 */
	constructor({ certificate, onUntrusted, ...options }: SocketOptions) {
		const authority = certificate !== undefined && { certificate: Uint8Array.fromBase64(certificate) };
		super({ ...options, TCP: { io: TCP }, secure: { cache: false, onUntrusted, ...authority } });
	}
}

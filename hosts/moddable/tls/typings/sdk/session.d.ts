/** The SDK's TLS session (modules/crypt/ssl/session_419) has no typings. */

declare module "sdk/ssl/session" {
	import type CertificateManager from "ssl/cert";

	/** What it reads from and writes to: the socket below TLS. */
	export interface SessionSocket {
		/** Bytes. */
		readable: number;
		writable: number;
	}

	export default class SSLSession {
		constructor(options: object);
		readonly options: object;
		certificateManager: CertificateManager;
		/** What the client encrypts with; null before its ChangeCipherSpec. */
		readonly clientCipher: object | null;
		readonly serverCipher: object | null;
		/** Received, or about to be sent. */
		readonly alert: { readonly level: number; readonly description: number } | undefined;
		/** Returns whether the handshake is over, which it is after an alert too. Throws at whatever is refused. */
		handshake(socket: SessionSocket): boolean | undefined;
		/** A whole record, with its header; undefined: it has not all come yet. */
		readPacket(socket: SessionSocket): ArrayBuffer | undefined;
		/** Undefined: nothing yet. Null: closed by the peer. Throws at whatever is not as it should be. */
		read(socket: SessionSocket): Uint8Array | null | undefined;
	}
}

/** The SDK's TLS session (modules/crypt/ssl/session_419) has no typings. */

declare module "sdk/ssl/session" {
	/** What it reads from and writes to: the socket below TLS. */
	export interface SessionSocket {
		/** Bytes. */
		readable: number;
		writable: number;
	}

	export default class SSLSession {
		constructor(options: object);
		/** Returns whether the connection is established. Throws at whatever is refused. */
		handshake(socket: SessionSocket): boolean | undefined;
		/** Undefined: nothing yet. Null: closed by the peer. Throws at whatever is not as it should be. */
		read(socket: SessionSocket): Uint8Array | null | undefined;
	}
}

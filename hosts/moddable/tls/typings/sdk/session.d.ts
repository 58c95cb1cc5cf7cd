/** modules/crypt/ssl/session_419. */

declare module "sdk/ssl/session" {
	import type CertificateManager from "ssl/cert";

	export interface SessionSocket {
		/** Bytes. */
		readable: number;
		writable: number;
	}

	export default class SSLSession {
		constructor(options: object);
		readonly options: object;
		certificateManager: CertificateManager;
		/** Null before the ChangeCipherSpec. */
		readonly clientCipher: object | null;
		readonly serverCipher: object | null;
		/** Received or sent. */
		readonly alert: { readonly level: number; readonly description: number } | undefined;
		/** @returns whether the handshake is over, even by an alert @throws Error */
		handshake(socket: SessionSocket): boolean | undefined;
		/** A record with its header; undefined: incomplete. */
		readPacket(socket: SessionSocket): ArrayBuffer | undefined;
		/** Undefined: nothing yet. Null: closed by the peer. @throws Error */
		read(socket: SessionSocket): Uint8Array | null | undefined;
	}
}

/** modules/crypt/ssl/session_419. */

declare module "sdk/ssl/session" {
	import type CertificateManager from "ssl/cert";

	export interface SessionSocket {
		/** Number of readable bytes. */
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
		/** Alert received or sent. */
		readonly alert: { readonly level: number; readonly description: number } | undefined;
		/** @returns whether the handshake is over, even by an alert @throws Error */
		handshake(socket: SessionSocket): boolean | undefined;
		/** @returns a record with its header; undefined if incomplete */
		readPacket(socket: SessionSocket): ArrayBuffer | undefined;
		/** @returns undefined without data, null if closed by the peer @throws Error */
		read(socket: SessionSocket): Uint8Array | null | undefined;
	}
}

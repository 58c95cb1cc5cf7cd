/** The SDK's TLS socket (examples/io/tcp/tlssocket) has no typings. */

declare module "embedded:io/socket/tcp/tls" {
	export interface TLSSocketOptions {
		/** The socket below: made with these options and its own. */
		TCP: { readonly io: new (options: never) => object };
		/** The server's name. */
		host: string;
		port: number;
		secure?: {
			/** A certificate authority, as DER. */
			certificate?: ArrayBuffer | Uint8Array;
		};
	}

	export default class TLSSocket {
		constructor(options: TLSSocketOptions);
	}
}

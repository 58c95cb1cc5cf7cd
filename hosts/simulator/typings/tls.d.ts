/** What the SDK's typings lack: its TLS socket (examples/io/tcp/tlssocket). */

declare module "embedded:io/socket/tcp/tls" {
	export interface TLSSocketOptions {
		/** The socket below: made with these options and its own. */
		TCP: { readonly io: new (options: never) => object };
		/** The server's name. */
		host: string;
		port: number;
	}

	export default class TLSSocket {
		constructor(options: TLSSocketOptions);
	}
}

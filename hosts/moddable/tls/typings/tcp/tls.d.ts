/** examples/io/tcp/tlssocket. */

declare module "embedded:io/socket/tcp/tls" {
	export interface TLSSocketOptions {
		/** Class of the socket below, constructed with these options and its own. */
		TCP: { readonly io: new (options: never) => object };
		address: string;
		/** Server name. */
		host: string;
		port: number;
		onReadable?: (byteCount: number) => void;
		onWritable?: (byteCount: number) => void;
		onError?: () => void;
		secure?: {
			/** Authority in DER. Default: the compiled-in ones. */
			certificate?: ArrayBuffer | Uint8Array;
			/** Whether sessions are resumed. Default: true. */
			cache?: boolean;
			/** See hosts/moddable/tls/session.ts. */
			onUntrusted?: ((reason: string) => void) | undefined;
		};
	}

	export default class TLSSocket {
		/** Passes all options to the socket below. */
		constructor(options: TLSSocketOptions & { readonly [option: string]: unknown });
		read(buffer: ByteBuffer): unknown;
		write(bytes: ByteBuffer): number;
		close(): void;
	}
}

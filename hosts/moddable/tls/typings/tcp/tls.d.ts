/** examples/io/tcp/tlssocket. */

declare module "embedded:io/socket/tcp/tls" {
	export interface TLSSocketOptions {
		/** Constructed with these options and its own. */
		TCP: { readonly io: new (options: never) => object };
		address: string;
		/** The server's name. */
		host: string;
		port: number;
		onReadable?: (byteCount: number) => void;
		onWritable?: (byteCount: number) => void;
		onError?: () => void;
		secure?: {
			/** The authority as DER. Default: those compiled in. */
			certificate?: ArrayBuffer | Uint8Array;
			/** Whether sessions are resumed; default true. */
			cache?: boolean;
			/** See hosts/moddable/tls/session.ts. */
			onUntrusted?: ((reason: string) => void) | undefined;
		};
	}

	export default class TLSSocket {
		/** The socket below gets all options. */
		constructor(options: TLSSocketOptions & { readonly [option: string]: unknown });
		format: "number" | "buffer";
		read(count?: number | ByteBuffer): unknown;
		write(bytes: ByteBuffer): number;
		close(): void;
	}
}

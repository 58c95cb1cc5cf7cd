/** The SDK's TLS socket (examples/io/tcp/tlssocket) has no typings. */

declare module "embedded:io/socket/tcp/tls" {
	export interface TLSSocketOptions {
		/** The socket below: made with these options and its own. */
		TCP: { readonly io: new (options: never) => object };
		address: string;
		/** The server's name. */
		host: string;
		port: number;
		onReadable?: (byteCount: number) => void;
		onWritable?: (byteCount: number) => void;
		onError?: () => void;
		secure?: {
			/** A certificate authority, as DER. Without it those are asked that were compiled in as resources. */
			certificate?: ArrayBuffer | Uint8Array;
			/** Whether a session may be resumed. Default true. */
			cache?: boolean;
		};
	}

	export default class TLSSocket {
		/** Throws where the clock is before or behind the dates of the certificate authority. The socket below gets all options. */
		constructor(options: TLSSocketOptions & { readonly [option: string]: unknown });
		format: "number" | "buffer";
		read(count?: number | ByteBuffer): unknown;
		write(bytes: ByteBuffer): number;
		close(): void;
	}
}

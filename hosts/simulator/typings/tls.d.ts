/** What the SDK's typings lack: its TLS socket (examples/io/tcp/tlssocket). */

declare module "embedded:io/socket/tcp/tls" {
	export interface TLSSocketOptions {
		/** The socket below: made with all these options and its own. */
		TCP: { readonly io: new (options: never) => object };
		/** The server's name. */
		host: string;
		onReadable: (byteCount: number) => void;
		onWritable: (byteCount: number) => void;
		onError: () => void;
	}

	export default class TLSSocket {
		constructor(options: TLSSocketOptions & { readonly [option: string]: unknown });
		format: "number" | "buffer";
		read(count?: number | ByteBuffer): unknown;
		write(bytes: ByteBuffer): number;
		close(): void;
	}
}

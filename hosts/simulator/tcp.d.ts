/** TCP socket of the SDK on a desktop; the boards use esp32/tcp. */

declare module "embedded:io/socket/tcp" {
	export interface Options {
		address: string;
		port: number;
		format?: "number" | "buffer";
		onReadable?: (this: TCP, byteCount: number) => void;
		onWritable?: (this: TCP, byteCount: number) => void;
		onError?: (this: TCP) => void;
	}

	export default class TCP {
		constructor(options: Options);
		format: "number" | "buffer";
		read(byteLength?: number): number | ArrayBuffer;
		read(buffer: ByteBuffer): void;
		write(value: number | ByteBuffer): unknown;
		close(): void;
	}
}

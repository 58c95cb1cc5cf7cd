/** TCP socket of the SDK on a desktop; the boards use esp32/tcp. */

declare module "embedded:io/socket/tcp" {
	export interface Options {
		address: string;
		port: number;
		onReadable?: (this: TCP, byteCount: number) => void;
		onWritable?: (this: TCP, byteCount: number) => void;
		onError?: (this: TCP) => void;
	}

	export default class TCP {
		constructor(options: Options);
		read(buffer: ByteBuffer): void;
		/** @returns undefined if it failed */
		write(bytes: ByteBuffer): number | undefined;
		close(): void;
	}
}

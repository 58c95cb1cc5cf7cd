/** Replacement for the SDK's typing, which lacks close() (modules/io/socket/lwip). */

declare module "embedded:io/socket/udp" {
	export default class UDP {
		constructor(options: { onReadable?: (count: number) => void });
		read(): ArrayBuffer | undefined;
		write(bytes: ByteBuffer, address: string, port: number): void;
		close(): void;
	}
}

/**
 * What the SDK's WebSocket client needs between itself and its socket. It reads a frame's header a byte at a time, with the
 * socket's format set to "number"; each write sets that to "buffer" and leaves it there. So a pong or a report that goes out
 * while the first half of a header has come in makes the next byte an ArrayBuffer, and from then on the connection is noise.
 * This socket sets the format back after each write. It stands on a TCP or a TLS socket, and serves every host on the SDK.
 */

/** An ECMA-419 socket. */
export interface Socket {
	format: "number" | "buffer";
	read(count?: number | ByteBuffer): unknown;
	/** Returns how many bytes may be written then; the SDK's typing does not know. */
	write(bytes: ByteBuffer): unknown;
	close(): void;
}

/** What the WebSocket client asks of a socket that it makes. */
export interface SocketOptions {
	readonly address: string;
	/** The name that was looked up. */
	readonly host: string;
	readonly port: number;
	readonly onReadable: (byteCount: number) => void;
	readonly onWritable: (byteCount: number) => void;
	readonly onError: () => void;
}

/** Given to the WebSocket client as its `socket`: `{ io: SteadySocket, below: (options) => new TCP(options) }`. */
export interface SteadySocketOptions extends SocketOptions {
	/** Makes the socket below. */
	readonly below: (options: SocketOptions) => Socket;
}

export class SteadySocket implements Socket {
	readonly #below: Socket;
	#formerFormat: Socket["format"] = "buffer";

	constructor(options: SteadySocketOptions) {
		const { below, address, host, port, onReadable, onWritable, onError } = options;
		this.#below = below({ address, host, port, onReadable, onWritable, onError });
	}

	get format(): Socket["format"] {
		return this.#below.format;
	}

	set format(format: Socket["format"]) {
		this.#formerFormat = this.#below.format;
		this.#below.format = format;
	}

	read(count?: number | ByteBuffer): unknown {
		return count === undefined ? this.#below.read() : this.#below.read(count);
	}

	write(bytes: ByteBuffer): unknown {
		const writable = this.#below.write(bytes);
		this.#below.format = this.#formerFormat;
		return writable;
	}

	close(): void {
		this.#below.close();
	}
}

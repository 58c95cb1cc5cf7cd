/**
 * Replaces the SDK's `embedded:io/socket/tcp`, whose list of received buffers is shared between two tasks without a lock. The
 * natives are in tcp-binding.c.
 */

import { guardCallbacks, type SocketCallbacks } from "board/socket-guard";

export interface Options extends SocketCallbacks<TCP> {
	/** IPv4. */
	address: string;
	port: number;
	/** TCP_NODELAY; default false. */
	nodelay?: boolean;
	/** Of `read`; default "buffer". */
	format?: "number" | "buffer";
	target?: unknown;
}

/**
 * The first `onWritable` means connected. `onReadable` gets the count of all unread bytes, which stay in lwIP and make the sender
 * wait. `onError` is called once: for a rejection or a reset, and for a close by the peer when all its bytes are read. An exception
 * in a callback is an error too.
 */
export default class TCP extends Native("xs_board_tcp_destructor") {
	/**
	 * @throws RangeError for an option out of range
	 * @throws Error without network, with six sockets open, in a Worker
	 */
	constructor(options: Options) {
		super();
		native("xs_board_tcp").call(this, { ...options, ...guardCallbacks<TCP>(options, trace) });
	}

	/**
	 * @param target how many bytes to return in a new ArrayBuffer (default: all), or a buffer to fill
	 * @returns one byte if the format is "number"; the count of bytes if a buffer is filled; undefined if nothing is there
	 */
	read(target?: number | ByteBuffer): number | ArrayBuffer | undefined {
		return native("xs_board_tcp_read").call(this, target);
	}

	/**
	 * @returns how many bytes may be written next
	 * @throws Error if more is written than may be
	 */
	write(value: number | ByteBuffer): number {
		return native("xs_board_tcp_write").call(this, value);
	}

	/** No callback is called afterwards. May be called again. */
	close(): void {
		return native("xs_board_tcp_close").call(this);
	}

	get format(): "number" | "buffer" {
		return native("xs_board_tcp_get_format").call(this);
	}

	set format(format: "number" | "buffer") {
		native("xs_board_tcp_set_format").call(this, format);
	}

	get remoteAddress(): string {
		return native("xs_board_tcp_get_remoteAddress").call(this);
	}

	get remotePort(): number {
		return native("xs_board_tcp_get_remotePort").call(this);
	}
}

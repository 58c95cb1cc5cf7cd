/**
 * Replacement for the SDK's `embedded:io/socket/tcp`, in which two tasks share the list of received buffers without a lock. Native
 * functions are in tcp-binding.c.
 */

import { guardCallbacks, type SocketCallbacks } from "moddable/socket-guard";

export interface Options extends SocketCallbacks<TCP> {
	/** IPv4 address. */
	address: string;
	port: number;
}

/**
 * TCP client socket. The first `onWritable` means that it is connected. `onReadable` receives the number of unread bytes, which stay in
 * lwIP and throttle the sender. `onError` is called once: for a rejection, a reset, an exception in a callback, and a close by the peer
 * after all bytes are read.
 */
export default class TCP extends Native("xs_board_tcp_destructor") {
	/**
	 * @throws RangeError for an option out of range
	 * @throws Error without a network, if six sockets are open, and in a Worker
	 */
	constructor(options: Options) {
		super();
		native("xs_board_tcp").call(this, { ...options, ...guardCallbacks<TCP>(options, trace) });
	}

	/** Fills a buffer with readable bytes. @returns the number of bytes read */
	read(buffer: ByteBuffer): number {
		return native("xs_board_tcp_read").call(this, buffer);
	}

	/**
	 * @returns the number of bytes that may be written next
	 * @throws Error if more bytes are written than allowed
	 */
	write(bytes: ByteBuffer): number {
		return native("xs_board_tcp_write").call(this, bytes);
	}

	/** Closes the socket; no callback is called afterwards. May be called again. */
	close(): void {
		return native("xs_board_tcp_close").call(this);
	}
}

/**
 * Replacement for the SDK's `embedded:io/socket/tcp`, in which two tasks share the list of received buffers without a lock. Native
 * functions are in tcp-binding.c.
 */

import { guardCallbacks, type SocketCallbacks } from "board/socket-guard";

export interface Options extends SocketCallbacks<TCP> {
	/** IPv4 address. */
	address: string;
	port: number;
	/** Return type of `read`; default "buffer". */
	format?: "number" | "buffer";
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

	/**
	 * @param target number of bytes to return in a new ArrayBuffer (default: all), or a buffer to fill
	 * @returns one byte if the format is "number"; the number of bytes read into a buffer; undefined if nothing is readable
	 */
	read(target?: number | ByteBuffer): number | ArrayBuffer | undefined {
		return native("xs_board_tcp_read").call(this, target);
	}

	/**
	 * @returns the number of bytes that may be written next
	 * @throws Error if more bytes are written than allowed
	 */
	write(value: number | ByteBuffer): number {
		return native("xs_board_tcp_write").call(this, value);
	}

	/** Closes the socket; no callback is called afterwards. May be called again. */
	close(): void {
		return native("xs_board_tcp_close").call(this);
	}

	get format(): "number" | "buffer" {
		return native("xs_board_tcp_get_format").call(this);
	}

	set format(format: "number" | "buffer") {
		native("xs_board_tcp_set_format").call(this, format);
	}
}

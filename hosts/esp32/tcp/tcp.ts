/**
 * ECMA-419's `embedded:io/socket/tcp` in place of the SDK's, whose list of received buffers is shared between two tasks without
 * a lock. The natives are in tcp-binding.c. An exception in a callback becomes the socket's error (socket-guard.ts).
 */

import { guardCallbacks, type SocketCallbacks } from "board/socket-guard";

export interface Options extends SocketCallbacks<TCP> {
	/** IPv4, as text. */
	address: string;
	/** 1 to 65535. */
	port: number;
	/** Sends small writes at once (TCP_NODELAY). Default: false. */
	nodelay?: boolean;
	/** What `read` returns. Default: "buffer". */
	format?: "number" | "buffer";
	target?: unknown;
}

/**
 * The first `onWritable` means connected. `onReadable` comes when bytes arrive, with the count of all that can be read. What is
 * not read stays in lwIP, and its window stops the sender. `onError` comes once: for a refusal or a reset, and for a close by
 * the peer when all bytes that came before it are read.
 */
export default class TCP extends Native("xs_board_tcp_destructor") {
	/**
	 * Starts to connect.
	 *
	 * @throws RangeError for an option out of range
	 * @throws Error without network, with six sockets open, in a Worker
	 */
	constructor(options: Options) {
		super();
		native("xs_board_tcp").call(this, { ...options, ...guardCallbacks<TCP>(options, trace) });
	}

	/**
	 * Reads at most what onReadable announced; undefined: nothing is there.
	 *
	 * @param target how many bytes to return in a new ArrayBuffer (all without it), or a buffer to fill
	 * @returns one byte if the format is "number"; the count of bytes if a buffer is filled
	 */
	read(target?: number | ByteBuffer): number | ArrayBuffer | undefined {
		return native("xs_board_tcp_read").call(this, target);
	}

	/**
	 * @returns how many bytes may be written now
	 * @throws Error if more is written than may be
	 */
	write(value: number | ByteBuffer): number {
		return native("xs_board_tcp_write").call(this, value);
	}

	/** Ends the connection; nothing is called afterwards. May be called again. */
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

/**
 * What the SDK's WebSocket client needs between itself and its socket, on every host on the SDK, over TCP or TLS.
 *
 * It reads a frame's header a byte at a time, with the socket's format set to "number"; each write sets that to "buffer" and
 * leaves it there. So a pong or a report that goes out while the first half of a header has come in makes the next byte an
 * ArrayBuffer, and from then on the connection is noise. This socket sets the format back after each write.
 *
 * And it takes every answer to its upgrade but 101 for an error without a word. This socket reads the answer's first line
 * before the client does, and tells the owner of a refusal.
 */

import { ResponseHead } from "moddable/response-head";

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

/** Given to the WebSocket client as its `socket`: `{ io: FormatRestoringSocket, below: (options) => new TCP(options) }`. */
export interface FormatRestoringSocketOptions extends SocketOptions {
	/** Makes the socket below. */
	readonly below: (options: SocketOptions) => Socket;
	/** As in WebSocketClientOptions of device/host.ts. */
	readonly onRefused?: ((status: number, retryAfterSeconds: number | undefined) => void) | undefined;
}

/** HTTP's status for an upgrade that is accepted. */
const switchingProtocols = 101;

export class FormatRestoringSocket implements Socket {
	readonly #options: FormatRestoringSocketOptions;
	readonly #below: Socket;
	#formerFormat: Socket["format"] = "buffer";
	/** Until it is known that the upgrade is accepted. */
	#head: ResponseHead | undefined = new ResponseHead();
	/** The answer's first line, which the client has not read yet. */
	#firstLine: number[] = [];

	constructor(options: FormatRestoringSocketOptions) {
		this.#options = options;
		const { below, address, host, port, onWritable } = options;
		this.#below = below({
			address,
			host,
			port,
			onReadable: (byteCount) => this.#onReadable(byteCount),
			onWritable,
			onError: () => this.#onError(),
		});
	}

	get format(): Socket["format"] {
		return this.#below.format;
	}

	set format(format: Socket["format"]) {
		this.#formerFormat = this.#below.format;
		this.#below.format = format;
	}

	read(count?: number | ByteBuffer): unknown {
		if (this.#firstLine.length > 0) return this.#firstLine.shift();
		return count === undefined ? this.#below.read() : this.#below.read(count);
	}

	write(bytes: ByteBuffer): unknown {
		const writable = this.#below.write(bytes);
		this.#below.format = this.#formerFormat;
		return writable;
	}

	close(): void {
		this.#head = undefined;
		this.#below.close();
	}

	#onReadable(byteCount: number): void {
		const unread = this.#head ? this.#readHead(this.#head, byteCount) : byteCount;
		// What is not HTTP is the client's to refuse.
		if (this.#head?.status === switchingProtocols || this.#head?.status === 0) this.#head = undefined;
		if (this.#head?.isOver) return this.#onError();
		if (!this.#head) this.#options.onReadable(this.#firstLine.length + unread);
	}

	/** Reads the first line, and of a refusal all that is there. @returns how many bytes it left */
	#readHead(head: ResponseHead, byteCount: number): number {
		const below = this.#below;
		const { format } = below;
		below.format = "number";
		let unread = byteCount;
		while (unread > 0 && !head.isOver && head.status !== switchingProtocols && head.status !== 0) {
			const byte = below.read();
			if (typeof byte !== "number") break;
			unread -= 1;
			if (head.status === undefined) this.#firstLine.push(byte);
			head.read(byte);
		}
		below.format = format;
		return unread;
	}

	#onError(): void {
		const head = this.#head;
		this.#head = undefined;
		if (head?.status !== undefined) this.#options.onRefused?.(head.status, head.retryAfterSeconds);
		this.#options.onError();
	}
}

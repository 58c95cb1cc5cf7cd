/**
 * Socket adapter for the SDK's WebSocket client, with work-arounds for three defects: the client reads frame headers in the format
 * "number", but each write sets the format to "buffer"; it reports no reason for a rejected upgrade; and no headers of an accepted one.
 */

import { ResponseHead } from "./response-head.js";

export type Bytes = ArrayBuffer | Uint8Array;

export interface Socket {
	format: "number" | "buffer";
	read(count?: number | Bytes): unknown;
	/** @returns the number of bytes that can be written next, which the SDK's typing lacks */
	write(bytes: Bytes): unknown;
	close(): void;
}

/** Options passed by the WebSocket client. */
export interface SocketOptions {
	readonly address: string;
	readonly host: string;
	readonly port: number;
	readonly onReadable: (byteCount: number) => void;
	readonly onWritable: (byteCount: number) => void;
	readonly onError: () => void;
}

/** Options of the client's `socket`: `{ io: FormatRestoringSocket, below: (options) => new TCP(options) }`. */
export interface FormatRestoringSocketOptions extends SocketOptions {
	readonly below: (options: SocketOptions) => Socket;
	/** See device/host.ts, also for onRejected. */
	readonly onDate?: ((date: string) => void) | undefined;
	readonly onRejected?: ((status: number, retryAfterSeconds: number | undefined) => void) | undefined;
}

const switchingProtocols = 101;

export class FormatRestoringSocket implements Socket {
	readonly #options: FormatRestoringSocketOptions;
	readonly #below: Socket;
	#previousFormat: Socket["format"] = "buffer";
	/** Undefined once the upgrade is accepted. */
	#head: ResponseHead | undefined = new ResponseHead();
	/** Head of an accepted upgrade while the client reads it byte by byte. */
	#accepted: ResponseHead | undefined;
	/** Bytes of the status line not yet read by the client. */
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
		this.#previousFormat = this.#below.format;
		this.#below.format = format;
	}

	read(count?: number | Bytes): unknown {
		if (this.#firstLine.length > 0) return this.#firstLine.shift();
		const read = count === undefined ? this.#below.read() : this.#below.read(count);
		if (this.#accepted && typeof read === "number") this.#readAccepted(this.#accepted, read);
		return read;
	}

	write(bytes: Bytes): unknown {
		const writable = this.#below.write(bytes);
		this.#below.format = this.#previousFormat;
		return writable;
	}

	close(): void {
		this.#head = undefined;
		this.#below.close();
	}

	#onReadable(byteCount: number): void {
		const unread = this.#head ? this.#readHead(this.#head, byteCount) : byteCount;
		if (this.#head?.status === switchingProtocols) this.#accepted = this.#head;
		// The client rejects anything that is not HTTP.
		if (this.#head?.status === switchingProtocols || this.#head?.status === 0) this.#head = undefined;
		if (this.#head?.isOver) return this.#onError();
		if (!this.#head) this.#options.onReadable(this.#firstLine.length + unread);
	}

	/** Reads the status line, and the whole head of a rejection. @returns the number of unread bytes */
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

	#readAccepted(head: ResponseHead, byte: number): void {
		head.read(byte);
		if (!head.isOver) return;
		this.#accepted = undefined;
		if (head.date !== undefined) this.#options.onDate?.(head.date);
	}

	#onError(): void {
		const head = this.#head;
		this.#head = undefined;
		if (head?.status !== undefined) this.#options.onRejected?.(head.status, head.retryAfterSeconds);
		this.#options.onError();
	}
}

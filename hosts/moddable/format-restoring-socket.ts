/**
 * A socket for the SDK's WebSocket client that works around three defects: the client reads frame headers in the format
 * "number", but each write sets it to "buffer"; a refused upgrade has no reason; and an accepted one has no headers.
 */

import { ResponseHead } from "moddable/response-head";

export interface Socket {
	format: "number" | "buffer";
	read(count?: number | ByteBuffer): unknown;
	/** @returns how many bytes can be written next, which the SDK's typing lacks */
	write(bytes: ByteBuffer): unknown;
	close(): void;
}

/** Passed by the WebSocket client. */
export interface SocketOptions {
	readonly address: string;
	readonly host: string;
	readonly port: number;
	readonly onReadable: (byteCount: number) => void;
	readonly onWritable: (byteCount: number) => void;
	readonly onError: () => void;
}

/** `socket` of the client: `{ io: FormatRestoringSocket, below: (options) => new TCP(options) }`. */
export interface FormatRestoringSocketOptions extends SocketOptions {
	readonly below: (options: SocketOptions) => Socket;
	/** As in device/host.ts, as is onRejected. */
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
	/** While the client reads the head of an accepted upgrade, byte by byte. */
	#accepted: ResponseHead | undefined;
	/** Of the response, not yet read by the client. */
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

	read(count?: number | ByteBuffer): unknown {
		if (this.#firstLine.length > 0) return this.#firstLine.shift();
		const read = count === undefined ? this.#below.read() : this.#below.read(count);
		if (this.#accepted && typeof read === "number") this.#readAccepted(this.#accepted, read);
		return read;
	}

	write(bytes: ByteBuffer): unknown {
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
		// The client refuses what is not HTTP.
		if (this.#head?.status === switchingProtocols || this.#head?.status === 0) this.#head = undefined;
		if (this.#head?.isOver) return this.#onError();
		if (!this.#head) this.#options.onReadable(this.#firstLine.length + unread);
	}

	/** Reads the first line, and all of a rejection. @returns how many bytes are unread */
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

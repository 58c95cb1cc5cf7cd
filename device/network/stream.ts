/**
 * Connection to a server by its name, with or without TLS. Adds to the host's socket the lookup, reads of lines, a queue for what does
 * not fit the send window, and callbacks that never throw (an exception would restart the board).
 */

import Timer from "timer";
import { attempt } from "../attempt.js";
import type { Resolve, Socket, SocketPart } from "../host.js";
import type { Url } from "./url.js";

/** Read ahead for lines, since each read of a socket is a call of the host, and garbage with TLS. */
const stagedBytes = 64;
/** A smaller piece of what is queued waits for a larger window, since each one is a TLS record. */
const minPieceBytes = 32;
const lineFeed = 10;

export interface StreamOptions {
	readonly part: SocketPart;
	/** For TLS: the certificate authority as DER in base64. */
	readonly certificate: string | undefined;
	readonly resolve: Resolve;
	readonly url: Url;
	/** Bytes have arrived. An exception here or in onDrained ends the connection. */
	readonly onReadable: () => void;
	/** Everything that was written has left the queue. Called in a new turn, since senders write more. */
	readonly onDrained?: () => void;
	/** Called at most once, last, in a new turn. @param reason undefined: unknown */
	readonly onLost: (reason: string | undefined) => void;
}

export class Stream {
	readonly #options: StreamOptions;
	#socket: Socket | undefined;
	#isClosed = false;
	#lossTimer: Timer | undefined;
	#drainTimer: Timer | undefined;
	/** Reason for rejecting the server's certificate. */
	#trustProblem: string | undefined;

	/** Received bytes that the host holds. */
	#unread = 0;
	/** Bytes read ahead, from `#stagedAt` to `#stagedEnd`. */
	readonly #staged = new Uint8Array(stagedBytes);
	#stagedAt = 0;
	#stagedEnd = 0;

	/** Send window; 0 until the connection is open. */
	#writableBytes = 0;
	readonly #queue: Uint8Array[] = [];
	#queuedBytes = 0;

	constructor(options: StreamOptions) {
		this.#options = options;
		options.resolve(options.url.host, (address) => this.#guard(() => this.#connect(address)));
	}

	/** Bytes that can be read. */
	get unread(): number {
		return this.#unread + this.#stagedEnd - this.#stagedAt;
	}

	/** Written bytes that the host's socket has not accepted yet. */
	get queuedBytes(): number {
		return this.#queuedBytes;
	}

	/** Reads up to and including a line feed, or a part of a line. @returns one character per byte; empty: nothing is unread */
	readLine(): string {
		this.#stage();
		const start = this.#stagedAt;
		const feed = this.#staged.indexOf(lineFeed, start);
		this.#stagedAt = feed < 0 || feed >= this.#stagedEnd ? this.#stagedEnd : feed + 1;
		return String.fromCharCode(...this.#staged.subarray(start, this.#stagedAt));
	}

	/** Fills a buffer, which must not be longer than `unread`. */
	read(buffer: Uint8Array): void {
		const end = Math.min(this.#stagedEnd, this.#stagedAt + buffer.byteLength);
		const staged = this.#staged.subarray(this.#stagedAt, end);
		buffer.set(staged);
		this.#stagedAt = end;
		this.#readSocket(buffer.subarray(staged.byteLength));
	}

	/** Writes bytes now, or when the send window has room. */
	write(bytes: Uint8Array): void {
		if (this.#isClosed) return;
		this.#queue.push(bytes);
		this.#queuedBytes += bytes.byteLength;
		this.#guard(() => this.#pump());
	}

	/** Writes UTF-8. */
	writeText(text: string): void {
		this.write(new Uint8Array(ArrayBuffer.fromString(text)));
	}

	/** Ends the connection; onLost is not called. Queued bytes are lost. */
	close(): void {
		this.#isClosed = true;
		this.#unread = 0;
		this.#stagedAt = this.#stagedEnd;
		this.#queue.length = 0;
		Timer.clear(this.#lossTimer);
		Timer.clear(this.#drainTimer);
		attempt("closing a broken connection failed", () => this.#socket?.close());
		this.#socket = undefined;
	}

	#connect(address: string | undefined): void {
		const { part, url, certificate } = this.#options;
		const { host, port } = url;
		if (address === undefined) return this.#fail(`the name ${host} was not found`);
		this.#socket = new part({
			address,
			host,
			port,
			certificate,
			onReadable: (byteCount) =>
				this.#guard(() => {
					this.#unread = byteCount;
					this.#options.onReadable();
				}),
			onWritable: (byteCount) => this.#guard(() => this.#onWritable(byteCount)),
			onUntrusted: (reason) => {
				this.#trustProblem = reason;
			},
			onError: () => this.#fail(this.#trustProblem),
		});
	}

	#onWritable(byteCount: number): void {
		this.#writableBytes = byteCount;
		this.#pump();
	}

	/** Reads ahead if nothing is staged. */
	#stage(): void {
		if (this.#stagedAt < this.#stagedEnd) return;
		this.#stagedAt = 0;
		this.#stagedEnd = Math.min(stagedBytes, this.#unread);
		this.#readSocket(this.#staged.subarray(0, this.#stagedEnd));
	}

	#readSocket(buffer: Uint8Array): void {
		if (buffer.byteLength === 0) return;
		this.#unread -= buffer.byteLength;
		this.#socket?.read(buffer);
	}

	#pump(): void {
		for (;;) {
			const [bytes] = this.#queue;
			if (!bytes || !this.#socket) return;
			const count = Math.min(bytes.byteLength, this.#writableBytes);
			if (count < bytes.byteLength && count < minPieceBytes) return;
			this.#writableBytes = this.#socket.write(bytes.subarray(0, count));
			this.#queuedBytes -= count;
			if (count < bytes.byteLength) this.#queue[0] = bytes.subarray(count);
			else this.#queue.shift();
			if (this.#queue.length === 0) this.#drainTimer ??= Timer.set(() => this.#onDrained());
		}
	}

	#onDrained(): void {
		this.#drainTimer = undefined;
		if (this.#queue.length === 0) this.#guard(() => this.#options.onDrained?.());
	}

	#guard(action: () => void): void {
		if (this.#isClosed) return;
		try {
			action();
		} catch (error) {
			this.#fail(`the connection failed: ${error}`);
		}
	}

	#fail(reason: string | undefined): void {
		if (this.#isClosed) return;
		this.close();
		this.#lossTimer = Timer.set(() => this.#options.onLost(reason));
	}
}

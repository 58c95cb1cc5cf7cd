/**
 * HTTP client of the SDK with three changes. It rejects chunked bodies, which the SDK reads in a timer, where the exception of a
 * malformed chunk restarts the board. It sends the head of a request in one write. It skips informational responses.
 */

import HTTPClient, { type ClientOptions, type HTTPRequest } from "embedded:network/http/client";
import type { Socket, SocketOptions } from "moddable/format-restoring-socket";
import type { HttpRequestOptions } from "../../device/host.js";

export interface UnchunkedHttpClientOptions extends Omit<ClientOptions, "socket"> {
	readonly below: (options: SocketOptions) => Socket;
}

export class UnchunkedHttpClient extends HTTPClient {
	#isClosed = false;

	constructor({ below, ...options }: UnchunkedHttpClientOptions) {
		super({ ...options, socket: { io: HttpSocket, below } });
	}

	override request(options: HttpRequestOptions): HTTPRequest {
		return super.request({
			...options,
			onHeaders: (status, headers) => {
				options.onHeaders(status, headers);
				// Caught by the socket's guard, which closes the connection.
				if (!this.#isClosed && headers.has("transfer-encoding"))
					throw new Error("chunked response bodies are not supported");
			},
		});
	}

	override close(): void {
		this.#isClosed = true;
		super.close();
	}
}

const lineFeed = 10;
const carriageReturn = 13;
/** Maximum size of a write; a longer request head is split. */
const longestPiece = 1024;
/** Start of an informational response (RFC 9110, 15.2). */
const informational = "HTTP/1.1 1";

/**
 * Socket of the SDK's client. Buffers the request head until its empty line: the client writes each line separately, which costs a TLS
 * record and a segment each, and with Nagle's algorithm all but the first wait for an acknowledgment, delayed by 40 ms on Linux.
 * Skips informational responses, e.g. 102 and 103, which the client mistakes for the final response.
 */
class HttpSocket implements Socket {
	readonly #below: Socket;
	readonly #onReadable: (byteCount: number) => void;

	readonly #heldLines = new Uint8Array(longestPiece);
	#heldBytes = 0;
	#isAfterLine = false;

	/** Whether the next byte starts a response, or the received start may be that of an informational one. */
	#isAtStart = false;
	/** Bytes of the start not yet read by the client. */
	#start: number[] = [];
	/** Whether an informational response is being skipped. */
	#isSkipping = false;
	/** Length of the line being skipped. */
	#lineBytes = 0;

	constructor({ below, address, host, port, onReadable, onWritable, onError }: HttpSocketOptions) {
		this.#onReadable = onReadable;
		this.#below = below({
			address,
			host,
			port,
			onReadable: (byteCount) => this.#receive(byteCount),
			onWritable,
			onError,
		});
	}

	get format(): Socket["format"] {
		return this.#below.format;
	}

	set format(format: Socket["format"]) {
		this.#below.format = format;
	}

	/** Reads one byte of the buffered start, or from the socket below. The client reads a status line in the format "number". */
	read(count?: number | ByteBuffer): unknown {
		if (this.#start.length > 0) return this.#start.shift();
		return count === undefined ? this.#below.read() : this.#below.read(count);
	}

	write(bytes: Uint8Array): unknown {
		const { byteLength } = bytes;
		const isEnd = byteLength === 2 && this.#isAfterLine;
		this.#isAfterLine = bytes[byteLength - 1] === lineFeed;
		if (isEnd) this.#isAtStart = true;
		// Only the first write can be longer: the client respects the size returned here.
		if (this.#heldBytes + byteLength > longestPiece) return this.#below.write(bytes);
		this.#heldLines.set(bytes, this.#heldBytes);
		this.#heldBytes += byteLength;
		if (!isEnd && this.#heldBytes < longestPiece) return longestPiece - this.#heldBytes;
		const piece = this.#heldLines.subarray(0, this.#heldBytes);
		this.#heldBytes = 0;
		return this.#below.write(piece);
	}

	close(): void {
		this.#below.close();
	}

	#receive(byteCount: number): void {
		const unread = this.#isAtStart ? this.#readStart(byteCount) : byteCount;
		if (!this.#isAtStart) this.#onReadable(this.#start.length + unread);
	}

	/** @returns the number of unread bytes */
	#readStart(byteCount: number): number {
		const below = this.#below;
		const { format } = below;
		below.format = "number";
		let unread = byteCount;
		while (unread > 0 && this.#isAtStart) {
			const byte = below.read();
			if (typeof byte !== "number") break;
			unread -= 1;
			if (this.#isSkipping) this.#skip(byte);
			else this.#inspect(byte);
		}
		below.format = format;
		return unread;
	}

	#inspect(byte: number): void {
		this.#isAtStart = byte === informational.charCodeAt(this.#start.length);
		this.#start.push(byte);
		if (!this.#isAtStart || this.#start.length < informational.length) return;
		this.#start = [];
		this.#lineBytes = informational.length;
		this.#isSkipping = true;
	}

	/** Skips up to and including an empty line. */
	#skip(byte: number): void {
		if (byte !== lineFeed) {
			if (byte !== carriageReturn) this.#lineBytes += 1;
			return;
		}
		this.#isSkipping = this.#lineBytes > 0;
		this.#lineBytes = 0;
	}
}

type HttpSocketOptions = SocketOptions & Pick<UnchunkedHttpClientOptions, "below">;

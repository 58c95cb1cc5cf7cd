/**
 * HTTP client of the SDK with two changes. It rejects chunked bodies, which the SDK reads in a timer, where the exception of a malformed
 * chunk restarts the board. It sends the head of a request in one write.
 */

import HTTPClient, { type ClientOptions, type HTTPRequest } from "embedded:network/http/client";
import type { Bytes, Socket, SocketOptions } from "moddable/format-restoring-socket";
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
/** Maximum size of a write; a longer request head is split. */
const longestPiece = 1024;

/**
 * Socket of the SDK's client. Buffers the request head until its empty line: the client writes each line separately, which costs a TLS
 * record and a segment each, and with Nagle's algorithm all but the first wait for an acknowledgment, delayed by 40 ms on Linux.
 */
class HttpSocket implements Socket {
	readonly #below: Socket;
	readonly #heldLines = new Uint8Array(longestPiece);
	#heldBytes = 0;
	#isAfterLine = false;

	constructor({ below, ...options }: HttpSocketOptions) {
		this.#below = below(options);
	}

	get format(): Socket["format"] {
		return this.#below.format;
	}

	set format(format: Socket["format"]) {
		this.#below.format = format;
	}

	read(count?: number | Bytes): unknown {
		return count === undefined ? this.#below.read() : this.#below.read(count);
	}

	write(bytes: Uint8Array): unknown {
		const { byteLength } = bytes;
		const isEnd = byteLength === 2 && this.#isAfterLine;
		this.#isAfterLine = bytes[byteLength - 1] === lineFeed;
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
}

type HttpSocketOptions = SocketOptions & Pick<UnchunkedHttpClientOptions, "below">;

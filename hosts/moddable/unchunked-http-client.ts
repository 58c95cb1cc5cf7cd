/**
 * The SDK's HTTP client with two changes. It refuses chunked bodies, which the SDK reads in a timer, where the exception of a
 * malformed chunk restarts the board. And it sends the head of a request in one piece.
 */

import HTTPClient, { type ClientOptions, type HTTPRequest } from "embedded:network/http/client";
import type { HttpRequestOptions } from "../../device/host.js";

interface Socket {
	/** @returns how many bytes can be written next */
	write(bytes: Uint8Array): unknown;
}

/** Of any options. */
type SocketClass = new (options: never) => Socket;

export interface UnchunkedHttpClientOptions extends ClientOptions {
	/** The class, and further options of its instances. */
	readonly socket: { readonly io: SocketClass; readonly [option: string]: unknown };
}

const lineFeed = 10;
/** What a longer head has beyond that is sent in pieces of this length. */
const longestPiece = 1024;

export class UnchunkedHttpClient extends HTTPClient {
	#isClosed = false;

	constructor(options: UnchunkedHttpClientOptions) {
		const { socket } = options;
		super({ ...options, socket: { ...socket, io: joiningLines(socket.io) } });
	}

	override request(options: HttpRequestOptions): HTTPRequest {
		return super.request({
			...options,
			onHeaders: (status, headers) => {
				options.onHeaders(status, headers);
				// In a guarded callback of the socket.
				if (!this.#isClosed && headers.has("transfer-encoding")) throw new Error("a body in chunks");
			},
		});
	}

	override close(): void {
		this.#isClosed = true;
		super.close();
	}
}

/**
 * A socket that holds back the lines of a request's head until the empty one. The SDK's client writes each by itself: a record of TLS
 * and a segment each, and by Nagle's algorithm all but the first wait for an acknowledgement, which Linux delays by 40 ms.
 */
function joiningLines(io: SocketClass): SocketClass {
	return class extends io {
		readonly #held = new Uint8Array(longestPiece);
		#byteCount = 0;
		#isAfterLine = false;

		override write(bytes: Uint8Array): unknown {
			const { byteLength } = bytes;
			const isEnd = byteLength === 2 && this.#isAfterLine;
			this.#isAfterLine = bytes[byteLength - 1] === lineFeed;
			// Only a first piece can be longer: the client keeps to what is returned here.
			if (this.#byteCount + byteLength > longestPiece) return super.write(bytes);
			this.#held.set(bytes, this.#byteCount);
			this.#byteCount += byteLength;
			if (!isEnd && this.#byteCount < longestPiece) return longestPiece - this.#byteCount;
			const piece = this.#held.subarray(0, this.#byteCount);
			this.#byteCount = 0;
			return super.write(piece);
		}
	};
}

/**
 * The SDK's HTTP client, which refuses chunked bodies: it would read chunks in a timer, where the exception of a malformed one
 * restarts the board. Such a response fails after onHeaders, unless close() was called there.
 */

import HTTPClient, { type HTTPRequest } from "embedded:network/http/client";
import type { HttpRequestOptions } from "../../device/host.js";

export class UnchunkedHttpClient extends HTTPClient {
	#isClosed = false;

	override request(options: HttpRequestOptions): HTTPRequest {
		return super.request({
			...options,
			onHeaders: (status, headers) => {
				options.onHeaders(status, headers);
				// Within a guarded callback of the socket.
				if (!this.#isClosed && headers.has("transfer-encoding")) throw new Error("a body in chunks");
			},
		});
	}

	override close(): void {
		this.#isClosed = true;
		super.close();
	}
}

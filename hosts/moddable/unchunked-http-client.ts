/**
 * The SDK's HTTP client without bodies in chunks. It reads the later chunks from a timer, where an exception ends the program
 * (on a board that is a restart), and it throws at every chunk that is not as it should be. Here the answer to a request ends
 * in an error at the head already. Whoever closes in onHeaders, as one does at a status of no use, is spared that.
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
				// In a callback of the socket, which is guarded.
				if (!this.#isClosed && headers.has("transfer-encoding")) throw new Error("a body in chunks");
			},
		});
	}

	override close(): void {
		this.#isClosed = true;
		super.close();
	}
}

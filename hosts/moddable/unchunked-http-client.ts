/**
 * The SDK's HTTP client without chunked bodies: the SDK reads these in a timer, where the exception of a malformed
 * chunk restarts the board.
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

/** Requests as Node passes them to handlers, without a connection. */

import { IncomingMessage } from "node:http";
import { Socket } from "node:net";

/** Request to port 8080. @param peer address of both ends */
export function incomingRequest(
	peer: string,
	headers: Readonly<Record<string, string>>,
	url = "/",
): IncomingMessage {
	const socket = new Socket();
	Object.defineProperties(socket, {
		remoteAddress: { value: peer },
		localAddress: { value: peer },
		localPort: { value: 8080 },
	});
	const request = new IncomingMessage(socket);
	Object.assign(request.headers, headers);
	request.url = url;
	return request;
}

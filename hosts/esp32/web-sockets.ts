/** The SDK's WebSocket client, over TCP (`ws:`) and over TLS (`wss:`), as the firmware's link takes it. */

import TCP from "embedded:io/socket/tcp";
import WebSocketClient from "embedded:network/websocket/client";
import { authorityOf, SafeTLS } from "board/safe-tls";
import { type Socket, type SocketOptions, SteadySocket } from "moddable/steady-socket";
import type { TrustOptions, WebSocketClientOptions } from "../../device/host.js";

export class PlainWebSocket extends WebSocketClient {
	constructor(options: WebSocketClientOptions) {
		super(optionsOver((socketOptions) => new TCP(socketOptions), options));
	}
}

/** TLS 1.2. The clock must be right, since the gateway's certificate is checked. */
export class SecureWebSocket extends WebSocketClient {
	/** @throws SyntaxError where `certificate` is not base64 */
	constructor({ certificate: base64, ...options }: WebSocketClientOptions & TrustOptions) {
		const certificate = authorityOf(base64);
		super(optionsOver((socketOptions) => new SafeTLS({ ...socketOptions, certificate }), options));
	}
}

/** What the SDK's client takes, over a socket that `below` makes. */
function optionsOver(
	below: (options: SocketOptions) => Socket,
	{ onRefused, ...options }: WebSocketClientOptions,
) {
	return {
		...options,
		headers: new Map(options.headers),
		socket: { io: SteadySocket, below, onRefused },
	};
}

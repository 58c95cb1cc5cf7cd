/** The SDK's WebSocket client, over TCP (`ws:`) and over TLS (`wss:`), as the firmware's link takes it. */

import WebSocketClient from "embedded:network/websocket/client";
import { compiledAuthority } from "board/certificates";
import { SafeTCP } from "board/safe-tcp";
import { SafeTLS } from "board/safe-tls";
import { type SocketOptions, SteadySocket } from "moddable/steady-socket";
import type { WebSocketClientOptions } from "../../device/host.js";

const overTCP = Object.freeze({
	io: SteadySocket,
	below: (options: SocketOptions) => new SafeTCP(options),
});

const overTLS = Object.freeze({
	io: SteadySocket,
	below: (options: SocketOptions) => new SafeTLS({ ...options, certificate: compiledAuthority() }),
});

export class PlainWebSocket extends WebSocketClient {
	constructor(options: WebSocketClientOptions) {
		super({ ...options, headers: new Map(options.headers), socket: overTCP });
	}
}

/**
 * TLS 1.2. The gateway's certificate is checked against the certificate authority that was given as `ca` when the firmware
 * was built; without it every gateway is refused. The clock must be right for that.
 */
export class SecureWebSocket extends WebSocketClient {
	constructor(options: WebSocketClientOptions) {
		super({ ...options, headers: new Map(options.headers), socket: overTLS });
	}
}

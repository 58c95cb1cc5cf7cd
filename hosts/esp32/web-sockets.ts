/** The SDK's WebSocket client, over TCP (`ws:`) and over TLS (`wss:`), as the firmware's link takes it. */

import TLSSocket from "embedded:io/socket/tcp/tls";
import WebSocketClient from "embedded:network/websocket/client";
import { SafeTCP } from "board/safe-tcp";
import config from "mc/config";
import type { WebSocketClientOptions } from "../../device/host.js";

export class PlainWebSocket extends WebSocketClient {
	constructor(options: WebSocketClientOptions) {
		super({ ...options, headers: new Map(options.headers), socket: { io: SafeTCP } });
	}
}

/**
 * TLS 1.2. The gateway's certificate is checked against the certificate authority that was given as `ca` (its DER in
 * base64) when the firmware was built; without it every gateway is refused. The clock must be right for that.
 */
export class SecureWebSocket extends WebSocketClient {
	constructor(options: WebSocketClientOptions) {
		const socket = { io: TLSSocket, TCP: { io: SafeTCP }, secure: certificateAuthority() };
		super({ ...options, headers: new Map(options.headers), socket });
	}
}

function certificateAuthority(): { readonly certificate?: Uint8Array } {
	const ca: unknown = config.ca;
	return typeof ca === "string" && ca !== "" ? { certificate: Uint8Array.fromBase64(ca) } : {};
}

/** The SDK's HTTP and WebSocket clients, over TCP and over TLS 1.2. */

import TCP from "embedded:io/socket/tcp";
import TLSSocket from "embedded:io/socket/tcp/tls";
import WebSocketClient from "embedded:network/websocket/client";
import { guardCallbacks } from "board/socket-guard";
import { FormatRestoringSocket, type Socket, type SocketOptions } from "moddable/format-restoring-socket";
import { UnchunkedHttpClient } from "moddable/unchunked-http-client";
import type { HttpClientOptions, TrustOptions, WebSocketClientOptions } from "../../device/host.js";

export interface GuardedTLSOptions extends SocketOptions {
	/** As DER; undefined: no one is trusted. */
	readonly certificate: ArrayBuffer | Uint8Array | undefined;
}

/**
 * The SDK's TLS socket with guarded callbacks: an exception in one would restart the board. (TCP's guard is for exceptions of TLS,
 * this one for those of its owner.) Sessions are never resumed: the SDK finds a session by the server's name alone, and does not
 * check the certificate authority again.
 */
class GuardedTLSSocket extends TLSSocket {
	constructor(options: GuardedTLSOptions) {
		const { address, host, port, certificate } = options;
		super({
			address,
			host,
			port,
			...guardCallbacks<unknown>(options, trace),
			TCP: { io: TCP },
			secure: certificate === undefined ? { cache: false } : { certificate, cache: false },
		});
	}
}

function decodeCertificate(certificate: string | undefined): Uint8Array | undefined {
	return certificate === undefined ? undefined : Uint8Array.fromBase64(certificate);
}

const overTCP = Object.freeze({ io: TCP });

export class PlainHttp extends UnchunkedHttpClient {
	constructor(options: HttpClientOptions) {
		super({ ...options, socket: overTCP });
	}
}

export class SecureHttp extends UnchunkedHttpClient {
	/** @throws SyntaxError where `certificate` is not base64 */
	constructor({ certificate: base64, ...options }: HttpClientOptions & TrustOptions) {
		const certificate = decodeCertificate(base64);
		const io = class extends GuardedTLSSocket {
			constructor(socketOptions: SocketOptions) {
				super({ ...socketOptions, certificate });
			}
		};
		super({ ...options, socket: { io } });
	}
}

export class PlainWebSocket extends WebSocketClient {
	constructor(options: WebSocketClientOptions) {
		super(optionsOver((socketOptions) => new TCP(socketOptions), options));
	}
}

export class SecureWebSocket extends WebSocketClient {
	/** @throws SyntaxError where `certificate` is not base64 */
	constructor({ certificate: base64, ...options }: WebSocketClientOptions & TrustOptions) {
		const certificate = decodeCertificate(base64);
		super(optionsOver((socketOptions) => new GuardedTLSSocket({ ...socketOptions, certificate }), options));
	}
}

function optionsOver(
	below: (options: SocketOptions) => Socket,
	{ onRefused, ...options }: WebSocketClientOptions,
) {
	return {
		...options,
		headers: new Map(options.headers),
		socket: { io: FormatRestoringSocket, below, onRefused },
	};
}

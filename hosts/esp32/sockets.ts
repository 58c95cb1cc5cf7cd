/** HTTP and WebSocket clients of the SDK, over TCP and TLS 1.2. */

import TCP from "embedded:io/socket/tcp";
import TLSSocket from "embedded:io/socket/tcp/tls";
import WebSocketClient from "embedded:network/websocket/client";
import { guardCallbacks } from "board/socket-guard";
import { FormatRestoringSocket, type Socket, type SocketOptions } from "moddable/format-restoring-socket";
import { UnchunkedHttpClient } from "moddable/unchunked-http-client";
import type { HttpClientOptions, TrustOptions, WebSocketClientOptions } from "../../device/host.js";

/**
 * TLS socket of the SDK with guarded callbacks. This guard handles exceptions of the socket's owner; TCP's guard handles those of TLS.
 * Session resumption is disabled: the SDK looks sessions up by server name alone and does not check the authority again.
 */
class GuardedTLSSocket extends TLSSocket {
	constructor(options: SocketOptions & { readonly secure: ReturnType<typeof securityOf> }) {
		const { address, host, port, secure } = options;
		super({
			address,
			host,
			port,
			...guardCallbacks<unknown>(options, trace),
			TCP: { io: TCP },
			secure,
		});
	}
}

/** Trusts no server without a certificate. @throws SyntaxError if the certificate is not base64 */
function securityOf({ certificate, onUntrusted }: TrustOptions) {
	const isGiven = certificate !== undefined;
	return { cache: false, onUntrusted, ...(isGiven && { certificate: Uint8Array.fromBase64(certificate) }) };
}

export class PlainHttp extends UnchunkedHttpClient {
	constructor(options: HttpClientOptions) {
		super({ ...options, below: (socketOptions) => new TCP(socketOptions) });
	}
}

export class SecureHttp extends UnchunkedHttpClient {
	/** @throws SyntaxError if `certificate` is not base64 */
	constructor({ certificate, onUntrusted, ...options }: HttpClientOptions & TrustOptions) {
		const secure = securityOf({ certificate, onUntrusted });
		super({ ...options, below: (socketOptions) => new GuardedTLSSocket({ ...socketOptions, secure }) });
	}
}

export class PlainWebSocket extends WebSocketClient {
	constructor(options: WebSocketClientOptions) {
		super(optionsOver((socketOptions) => new TCP(socketOptions), options));
	}
}

export class SecureWebSocket extends WebSocketClient {
	/** @throws SyntaxError if `certificate` is not base64 */
	constructor({ certificate, onUntrusted, ...options }: WebSocketClientOptions & TrustOptions) {
		const secure = securityOf({ certificate, onUntrusted });
		super(optionsOver((socketOptions) => new GuardedTLSSocket({ ...socketOptions, secure }), options));
	}
}

function optionsOver(
	below: (options: SocketOptions) => Socket,
	{ onDate, onRejected, ...options }: WebSocketClientOptions,
) {
	return {
		...options,
		headers: new Map(options.headers),
		socket: { io: FormatRestoringSocket, below, onDate, onRejected },
	};
}

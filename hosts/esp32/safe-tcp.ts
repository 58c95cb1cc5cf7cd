/** The SDK's TCP behind a guard (socket-guard.ts): what to build TLS and WebSockets on. */

import TCP, { type Options } from "embedded:io/socket/tcp";
import { guardCallbacks } from "board/socket-guard";

export class SafeTCP extends TCP {
	constructor(options: Options) {
		super({ ...options, ...guardCallbacks<TCP>(options, trace) });
	}
}

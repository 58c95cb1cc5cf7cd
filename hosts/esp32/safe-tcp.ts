/**
 * The SDK's TCP, made safe to build upon. Its TLS and WebSocket code throws into the socket's callbacks, at every refused
 * certificate for one, and an exception there restarts the board. And a peer that closes was seen to be reported twice.
 * Here an exception becomes an error like any other, and the first error is the last thing that is heard.
 */

import TCP, { type Options } from "embedded:io/socket/tcp";

export class SafeTCP extends TCP {
	constructor(options: Options) {
		const { onReadable, onWritable, onError } = options;
		let isOver = false;
		const end = (socket: TCP) => {
			if (isOver) return;
			isOver = true;
			try {
				onError?.call(socket);
			} catch (error) {
				trace(`socket: ${error}\n`);
			}
		};
		const guard = (socket: TCP, action: () => void) => {
			if (isOver) return;
			try {
				action();
			} catch (error) {
				trace(`socket: ${error}\n`);
				end(socket);
			}
		};
		super({
			...options,
			onReadable(byteCount) {
				guard(this, () => onReadable?.call(this, byteCount));
			},
			onWritable(byteCount) {
				guard(this, () => onWritable?.call(this, byteCount));
			},
			onError() {
				end(this);
			},
		});
	}
}

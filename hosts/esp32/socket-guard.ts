/**
 * Puts a guard around a socket's callbacks. The SDK's TLS and WebSocket code throws into them, at every refused certificate
 * for one, and an exception there restarts the board; and a peer that closes was seen to be reported twice. Behind the
 * guard an exception is an error like any other, and the first error is the last thing that is heard.
 */

/** The callbacks of ECMA-419 `embedded:io/socket/tcp`, called with the socket as `this`. */
export interface SocketCallbacks<Socket> {
	onReadable?: (this: Socket, byteCount: number) => void;
	onWritable?: (this: Socket, byteCount: number) => void;
	onError?: (this: Socket) => void;
}

/** @param report hears what an exception said */
export function guardCallbacks<Socket>(
	callbacks: SocketCallbacks<Socket>,
	report: (text: string) => void,
): Required<SocketCallbacks<Socket>> {
	const { onReadable, onWritable, onError } = callbacks;
	let isOver = false;
	const end = (socket: Socket) => {
		if (isOver) return;
		isOver = true;
		try {
			onError?.call(socket);
		} catch (error) {
			report(`socket: ${error}\n`);
		}
	};
	const guard = (socket: Socket, action: () => void) => {
		if (isOver) return;
		try {
			action();
		} catch (error) {
			report(`socket: ${error}\n`);
			end(socket);
		}
	};
	return {
		onReadable(byteCount) {
			guard(this, () => onReadable?.call(this, byteCount));
		},
		onWritable(byteCount) {
			guard(this, () => onWritable?.call(this, byteCount));
		},
		onError() {
			end(this);
		},
	};
}

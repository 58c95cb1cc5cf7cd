/**
 * Puts a guard around a socket's callbacks. The SDK's TLS and WebSocket code throws into them, for example at every refused
 * certificate, and an exception there restarts the board. Behind the guard an exception is an error of the socket, and nothing
 * is called after the first error.
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

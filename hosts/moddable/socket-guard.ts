/**
 * Wraps a socket's callbacks: turns an exception into a socket error, and calls nothing after the first error. The SDK's TLS
 * throws in callbacks, e.g. for a rejected certificate, which would restart the board.
 */

/** Callbacks of ECMA-419 `embedded:io/socket/tcp`, called with the socket as `this`. */
export interface SocketCallbacks<Socket> {
	onReadable?: (this: Socket, byteCount: number) => void;
	onWritable?: (this: Socket, byteCount: number) => void;
	onError?: (this: Socket) => void;
}

/** @param report receives a log line for each exception */
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
			report(`exception in a socket callback: ${error}\n`);
		}
	};
	const guard = (socket: Socket, action: () => void) => {
		if (isOver) return;
		try {
			action();
		} catch (error) {
			report(`exception in a socket callback: ${error}\n`);
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

/**
 * TCP socket like the SDK's `embedded:io/socket/tcp`, optionally with TLS. Socket and unread bytes are in Node, like lwIP's memory on a
 * board. An exception in a callback becomes an error, as on the boards (hosts/esp32/tcp); with the SDK's socket it would restart the
 * device.
 */

import { guardCallbacks } from "board/socket-guard";
import type { TrustOptions } from "../../../device/host.js";
import Channel from "./channel.js";
import type { HttpSocket, HttpSocketOptions } from "./http-client.js";

export interface TcpOptions extends HttpSocketOptions {
	/** Undefined for plain TCP. */
	secure?: TrustOptions | undefined;
}

/** Size of lwIP's send buffer on the boards. */
const sendBufferBytes = 65_535;

export class TcpSocket implements HttpSocket {
	readonly #channel: Channel<"tcp">;
	#unread = 0;

	constructor({ address, port, host, secure, ...callbacks }: TcpOptions) {
		const { onReadable, onWritable, onError } = guardCallbacks<TcpSocket>(callbacks, trace);
		this.#channel = new Channel(
			"tcp",
			{ address, port, host, secure: secure && { certificate: secure.certificate, now: Date.now() } },
			{
				untrusted: (reason) => secure?.onUntrusted?.(reason),
				open: () => onWritable.call(this, sendBufferBytes),
				error: () => onError.call(this),
				readable: (byteCount) => {
					this.#unread += byteCount;
					onReadable.call(this, this.#unread);
				},
			},
		);
	}

	/** Reads up to and including a line feed, or all available bytes. @returns one character per byte */
	readLine(): string {
		const line = this.#channel.call("readLine", this.#unread);
		this.#unread -= line.length;
		return line;
	}

	/** Fills `buffer`. @throws Error if fewer bytes are available */
	read(buffer: Uint8Array): number {
		const { byteLength } = buffer;
		if (byteLength > this.#unread) throw new Error("not enough bytes to read");
		this.#unread -= byteLength;
		if (byteLength > 0) buffer.set(this.#channel.call("read", byteLength));
		return byteLength;
	}

	write(text: string): void {
		this.#channel.post("write", undefined, new Uint8Array(ArrayBuffer.fromString(text)));
	}

	close(): void {
		this.#channel.close();
	}
}

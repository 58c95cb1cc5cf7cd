/**
 * TCP socket like the SDK's `embedded:io/socket/tcp`, optionally with TLS. Socket and unread bytes are in Node, like lwIP's memory on a
 * board. An exception in a callback becomes an error, as on the boards (hosts/esp32/tcp); with the SDK's socket it would restart the
 * device.
 */

import type { TrustOptions } from "../../../device/host.js";
import type { PeerOptions } from "../peripherals.js";
import Channel from "./channel.js";

export interface TcpOptions extends Omit<PeerOptions, "secure"> {
	/** Undefined for plain TCP. */
	secure?: TrustOptions | undefined;
	onReadable: (byteCount: number) => void;
	onWritable: (byteCount: number) => void;
	onError: () => void;
}

/** Size of lwIP's send buffer on the boards. */
const sendBufferBytes = 65_535;

export class TcpSocket {
	readonly #channel: Channel<"tcp">;
	readonly #onError: () => void;
	#unread = 0;
	#isOver = false;

	constructor(options: TcpOptions) {
		const { address, port, host, onReadable, onWritable } = options;
		const { certificate, onUntrusted } = options.secure ?? {};
		const secure = options.secure && { certificate, now: Date.now() };
		this.#onError = options.onError;
		this.#channel = new Channel(
			"tcp",
			{ address, port, host, secure },
			{
				untrusted: (reason) => this.#guard(() => onUntrusted?.(reason)),
				open: () => this.#guard(() => onWritable(sendBufferBytes)),
				error: () => this.#fail(),
				readable: (byteCount) => {
					this.#unread += byteCount;
					this.#guard(() => onReadable(this.#unread));
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
		this.#isOver = true;
		this.#channel.close();
	}

	#guard(action: () => void): void {
		if (this.#isOver) return;
		try {
			action();
		} catch (error) {
			trace(`exception in a socket callback: ${error}\n`);
			this.#fail();
		}
	}

	#fail(): void {
		if (this.#isOver) return;
		this.#isOver = true;
		try {
			this.#onError();
		} catch (error) {
			trace(`exception in a socket callback: ${error}\n`);
		}
	}
}

/**
 * The SDK's `embedded:io/socket/tcp`, optionally with TLS; the socket itself is in Node. An exception from a callback becomes
 * an error, as on the boards (hosts/esp32/tcp); with the SDK's socket it would restart the device.
 */

import type { TrustOptions } from "../../../device/host.js";
import type { PeerOptions } from "../peripherals.js";
import Channel from "./channel.js";

export interface TcpOptions extends Omit<PeerOptions, "secure"> {
	/** Undefined: plain TCP. */
	secure?: TrustOptions | undefined;
	onReadable: (byteCount: number) => void;
	onWritable: (byteCount: number) => void;
	onError: () => void;
}

/** lwIP's send buffer on the boards. */
const sendBufferBytes = 65_535;

export class TcpSocket {
	readonly #channel: Channel<"tcp">;
	readonly #onError: () => void;
	/** Received and not read yet; of the first piece, from `#at` on. */
	readonly #pieces: Uint8Array[] = [];
	#at = 0;
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
				data: (_detail, bytes) => {
					this.#pieces.push(bytes);
					this.#unread += bytes.byteLength;
					this.#guard(() => onReadable(this.#unread));
				},
			},
		);
	}

	/** Reads up to and including a line feed, or what has arrived. @returns one character for each byte */
	readLine(): string {
		const piece = this.#pieces[0];
		if (!piece) return "";
		const feed = piece.indexOf(10, this.#at);
		const line = piece.subarray(this.#at, feed < 0 ? piece.byteLength : feed + 1);
		this.#taken(line.byteLength);
		let text = "";
		// In parts, since arguments lie on XS's stack.
		for (let at = 0; at < line.byteLength; at += 32)
			text += String.fromCharCode(...line.subarray(at, at + 32));
		return text;
	}

	/** Fills `buffer`. @throws Error where fewer bytes have arrived */
	read(buffer: Uint8Array): number {
		if (buffer.byteLength > this.#unread) throw new Error("nothing to read");
		for (let filled = 0; filled < buffer.byteLength; ) {
			const piece = this.#pieces[0];
			if (!piece) break;
			const part = piece.subarray(this.#at, this.#at + buffer.byteLength - filled);
			buffer.set(part, filled);
			filled += part.byteLength;
			this.#taken(part.byteLength);
		}
		return buffer.byteLength;
	}

	write(text: string): void {
		this.#channel.post("write", undefined, new Uint8Array(ArrayBuffer.fromString(text)));
	}

	close(): void {
		this.#isOver = true;
		this.#pieces.length = 0;
		this.#channel.close();
	}

	/** @param byteCount of the first piece */
	#taken(byteCount: number): void {
		this.#at += byteCount;
		this.#unread -= byteCount;
		const length = this.#pieces[0]?.byteLength ?? 0;
		if (this.#at < length) return;
		this.#pieces.shift();
		this.#at = 0;
		this.#channel.post("taken", length);
	}

	#guard(action: () => void): void {
		if (this.#isOver) return;
		try {
			action();
		} catch (error) {
			trace(`socket: ${error}\n`);
			this.#fail();
		}
	}

	#fail(): void {
		if (this.#isOver) return;
		this.#isOver = true;
		try {
			this.#onError();
		} catch (error) {
			trace(`socket: ${error}\n`);
		}
	}
}

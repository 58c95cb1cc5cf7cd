/** TCP socket like that of the boards (hosts/esp32/tcp). Socket and unread bytes are in Node, like lwIP's memory on a board. */

import type { Socket, SocketOptions } from "../../../device/host.js";
import type { Secure } from "../peripherals.js";
import Channel from "./channel.js";

/** Maximum size of a write on the boards. */
const sendBufferBytes = 4096;

export class TcpSocket implements Socket {
	readonly #channel: Channel<"tcp">;
	#unread = 0;
	#writable = 0;

	/** @param secure undefined for plain TCP */
	constructor(options: SocketOptions, secure?: Secure) {
		const { address, port, host, onReadable, onWritable, onUntrusted, onError } = options;
		this.#channel = new Channel(
			"tcp",
			{ address, port, host, secure },
			{
				sent: (byteCount) => {
					this.#writable += byteCount;
					if (this.#writable === sendBufferBytes) onWritable(sendBufferBytes);
				},
				open: () => {
					this.#writable = sendBufferBytes;
					onWritable(sendBufferBytes);
				},
				readable: (byteCount) => {
					this.#unread += byteCount;
					onReadable(this.#unread);
				},
				untrusted: onUntrusted,
				error: (reason) => {
					if (reason !== null) trace(`socket error: ${reason}\n`);
					onError();
				},
			},
		);
	}

	/** @throws Error if fewer bytes are available */
	read(buffer: Uint8Array): void {
		const { byteLength } = buffer;
		if (byteLength > this.#unread) throw new Error("not enough bytes to read");
		this.#unread -= byteLength;
		buffer.set(this.#channel.call("read", byteLength));
	}

	write(bytes: Uint8Array): number {
		if (bytes.byteLength > this.#writable) throw new Error("write exceeds the writable bytes");
		this.#writable -= bytes.byteLength;
		this.#channel.post("write", undefined, bytes);
		return this.#writable;
	}

	close(): void {
		this.#channel.close();
	}
}

/** TLS socket, implemented by Node. Trusts Node's authorities without a certificate. */
export class TlsSocket extends TcpSocket {
	constructor(options: SocketOptions) {
		super(options, { certificate: options.certificate, now: Date.now() });
	}
}

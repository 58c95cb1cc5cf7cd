/**
 * Implementation of `embedded:network/websocket/client` that reproduces the SDK's behavior for tests: a write window that only the network
 * refills, fragmented messages, no timeouts, no reason for a failed connection, onError called twice, onClose delayed by 1 s. The
 * connection itself is in Node.
 */

import Timer from "timer";
import type {
	WebSocketClient as Interface,
	TrustOptions,
	WebSocketClientOptions,
} from "../../../device/host.js";
import type { Peripherals } from "../peripherals.js";
import Channel from "./channel.js";

/** lwIP's default send buffer on an ESP32-S3 (ESP-IDF, CONFIG_LWIP_TCP_SND_BUF_DEFAULT), minus a frame header. */
const sendBufferBytes = 5744;
/** TCP segment size. */
const segmentBytes = 1440;
/** Header of up to 4 bytes plus the 4-byte mask of client frames. */
const headerBytes = 8;

export class WebSocketClient implements Interface {
	readonly #options: WebSocketClientOptions;
	readonly #onUntrusted: TrustOptions["onUntrusted"];
	#channel: Channel<"websocket"> | undefined;
	#isOpen = false;
	#isClosed = false;
	#writableBytes = sendBufferBytes;
	/** Unread bytes announced by onReadable. */
	#offered: Uint8Array | undefined;
	#closer: Timer | undefined;

	/** @param secure undefined for plain TCP */
	constructor(options: WebSocketClientOptions, secure?: TrustOptions) {
		this.#options = options;
		this.#onUntrusted = secure?.onUntrusted;
		const { host, port, path, headers } = options;
		const dns = new options.dns.io(options.dns);
		dns.resolve({
			host,
			onResolved: (_name, address) => {
				this.#channel = new Channel(
					"websocket",
					{
						host,
						address,
						port,
						path,
						headers: [...headers],
						secure: secure && { certificate: secure.certificate, now: Date.now() },
					},
					this.#events,
				);
			},
			onError: () => this.#onError(),
		});
	}

	write(
		payload: ArrayBuffer | Uint8Array,
		options: { binary?: boolean; more?: boolean; opcode?: number },
	): number {
		const total = payload.byteLength + headerBytes;
		if (!this.#isOpen || total > this.#writableBytes + headerBytes) throw new Error();
		this.#writableBytes -= total;
		const bytes = payload instanceof ArrayBuffer ? new Uint8Array(payload) : payload;
		this.#channel?.post("write", options, bytes);
		return Math.max(0, this.#writableBytes);
	}

	read(byteCount: number): ArrayBuffer {
		const offered = this.#offered ?? new Uint8Array(0);
		this.#offered = offered.subarray(byteCount);
		return offered.slice(0, byteCount).buffer;
	}

	/** Closes the connection. Like the SDK, does not cancel a DNS lookup. */
	close(): void {
		this.#isClosed = true;
		this.#isOpen = false;
		Timer.clear(this.#closer);
		this.#channel?.close();
		this.#channel = undefined;
	}

	get #events(): Peripherals["websocket"]["events"] {
		return {
			date: (date) => this.#options.onDate?.(date),
			open: () => this.#onOpen(),
			sent: (byteCount) => this.#onSent(byteCount),
			message: (type, payload) => this.#onMessage(payload ?? new Uint8Array(0), type === "binary"),
			control: (opcode, payload) =>
				this.#options.onControl(opcode, payload?.slice().buffer ?? new ArrayBuffer(0)),
			close: () => this.#onClose(),
			rejected: (answer) => this.#options.onRejected?.(answer.status, answer.retryAfterSeconds),
			untrusted: (reason) => this.#onUntrusted?.(reason),
			error: (reason) => this.#onError(reason),
		};
	}

	#onOpen(): void {
		this.#isOpen = true;
		this.#options.onWritable(this.#writableBytes);
	}

	#onSent(byteCount: number): void {
		this.#writableBytes += byteCount + headerBytes;
		if (this.#writableBytes > 0) this.#options.onWritable(this.#writableBytes);
	}

	/** Calls onClose 1 s after the echo of the close frame, like examples/io/tcp/websocketclient. */
	#onClose(): void {
		this.#isOpen = false;
		this.#closer = Timer.set(() => {
			this.close();
			this.#options.onClose();
		}, 1000);
	}

	#onMessage(message: Uint8Array, binary: boolean): void {
		let start = 0;
		do {
			const piece = message.subarray(start, start + segmentBytes);
			start += piece.byteLength;
			this.#offered = piece;
			this.#options.onReadable(piece.byteLength, { more: start < message.byteLength, binary });
		} while (start < message.byteLength && !this.#isClosed);
	}

	#onError(reason: string | null = null): void {
		if (reason !== null) trace(`WebSocket error: ${reason}\n`);
		this.close();
		this.#options.onError();
		this.#options.onError();
	}
}

/** WebSocket client over TLS. Trusts Node's authorities without a `certificate`. */
export class SecureWebSocketClient extends WebSocketClient {
	constructor({ certificate, onUntrusted, ...options }: WebSocketClientOptions & TrustOptions) {
		super(options, { certificate, onUntrusted });
	}
}

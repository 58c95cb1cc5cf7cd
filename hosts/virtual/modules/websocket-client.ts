/**
 * The SDK's `embedded:network/websocket/client`; the connection itself is in Node. It behaves as the SDK's does, so that tests
 * cover that: a write window that only the network refills, messages in fragments, no time-outs, no reason for a failed
 * connection, onError called twice, onClose a second late.
 */

import Timer from "timer";
import type {
	WebSocketClient as Interface,
	TrustOptions,
	WebSocketClientOptions,
} from "../../../device/host.js";
import Channel, { numberField, optionalNumberField } from "./channel.js";

/** lwIP's send buffer on an ESP32-S3 (ESP-IDF, CONFIG_LWIP_TCP_SND_BUF_DEFAULT), less a frame header. */
const sendBufferBytes = 5744;
/** One TCP segment. */
const segmentBytes = 1440;
/** Client frames are masked: 4 bytes more than the 2 or 4 of the header. */
const headerBytes = 8;

export class WebSocketClient implements Interface {
	readonly #options: WebSocketClientOptions;
	readonly #onUntrusted: TrustOptions["onUntrusted"];
	#channel: Channel | undefined;
	#isOpen = false;
	#isClosed = false;
	#writableBytes = sendBufferBytes;
	/** What onReadable announced and was not read yet. */
	#offered: Uint8Array | undefined;
	#closer: Timer | undefined;

	/** @param secure undefined: plain TCP */
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
					(event, detail, payload) => this.#onEvent(event, detail, payload),
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
		this.#channel?.post("write", options, payload);
		return Math.max(0, this.#writableBytes);
	}

	read(byteCount: number): ArrayBuffer {
		const offered = this.#offered ?? new Uint8Array(0);
		this.#offered = offered.subarray(byteCount);
		return offered.slice(0, byteCount).buffer;
	}

	/** As with the SDK, does not cancel a look-up. */
	close(): void {
		this.#isClosed = true;
		this.#isOpen = false;
		Timer.clear(this.#closer);
		this.#channel?.close();
		this.#channel = undefined;
	}

	#onEvent(event: string, detail: unknown, payload: ArrayBuffer | undefined): void {
		switch (event) {
			case "open":
				this.#isOpen = true;
				return this.#options.onWritable(this.#writableBytes);
			case "sent":
				this.#writableBytes += numberField(detail, "byteCount") + headerBytes;
				if (this.#writableBytes > 0) this.#options.onWritable(this.#writableBytes);
				return;
			case "message":
				return this.#onMessage(new Uint8Array(payload ?? new ArrayBuffer(0)), detail === "binary");
			case "control":
				return this.#options.onControl(numberField(detail, "opcode"), payload ?? new ArrayBuffer(0));
			case "close":
				// examples/io/tcp/websocketclient: onClose follows the echo of the close frame by a second.
				this.#isOpen = false;
				this.#closer = Timer.set(() => {
					this.close();
					this.#options.onClose();
				}, 1000);
				return;
			case "refused":
				return this.#options.onRefused?.(
					numberField(detail, "status"),
					optionalNumberField(detail, "retryAfterSeconds"),
				);
			case "untrusted":
				return this.#onUntrusted?.(String(detail));
			case "error":
				if (typeof detail === "string") trace(`socket: ${detail}\n`);
				return this.#onError();
		}
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

	#onError(): void {
		this.close();
		this.#options.onError();
		this.#options.onError();
	}
}

/** The same over TLS. Without `certificate` the authorities that Node knows are trusted. */
export class SecureWebSocketClient extends WebSocketClient {
	constructor({ certificate, onUntrusted, ...options }: WebSocketClientOptions & TrustOptions) {
		super(options, { certificate, onUntrusted });
	}
}

/**
 * One WebSocket connection to the gateway. Adds what the SDK's client lacks: a send queue that splits messages to fit
 * the write window, a connect timeout, a heartbeat, cancellation of the DNS lookup, and callbacks that never throw (an
 * exception would restart the board).
 */

import Timer from "timer";
import { attempt } from "../attempt.js";
import type { ResolverPart, SecureWebSocketPart, WebSocketClient } from "../host.js";
import { maxCommandBytes } from "../protocol/messages.js";
import { type ConnectionEnd, endOfClose, endOfRejection, failed } from "./connection-end.js";
import { checkJsonLimits } from "./json-limits.js";
import { LookupTicket } from "./lookup.js";
import type { Url } from "./url.js";

/** Includes a TLS handshake in software, which takes seconds. */
const connectTimeoutMs = 20_000;
/** Silence before a ping; after three times as long the connection counts as lost. */
const silenceMs = 15_000;
const silencesUntilLost = 3;
/** Enough: state reports are never queued (state-reporter.ts), only answers to commands. */
const maxQueueBytes = 16 * 1024;
const minFragmentBytes = 32;

/** RFC 6455, section 5.2. */
const opcode = Object.freeze({ close: 8, ping: 9 });

export interface GatewaySocketOptions {
	readonly part: SecureWebSocketPart;
	/** For `wss`: the certificate authority as DER in base64. */
	readonly certificate: string | undefined;
	readonly dns: ResolverPart;
	readonly url: Url;
	readonly headers: Iterable<readonly [string, string]>;
	/** Called before onOpen. @param date header of the gateway's response */
	readonly onDate?: (date: string) => void;
	readonly onOpen: () => void;
	/** @param message parsed JSON */
	readonly onMessage: (message: unknown) => void;
	readonly onDrained: () => void;
	/** Called exactly once, unless close() was called. */
	readonly onClosed: (end: ConnectionEnd) => void;
}

export class GatewaySocket {
	readonly #options: GatewaySocketOptions;
	readonly #ticket: LookupTicket;
	readonly #connectTimer: Timer;
	#client: WebSocketClient | undefined;
	#isClosed = false;
	#isOpen = false;
	/** Set by a close frame or a rejected upgrade. */
	#announcedEnd: ConnectionEnd | undefined;

	/** Reason for rejecting the server's certificate. */
	#trustProblem: string | undefined;

	#writableBytes = 0;
	readonly #outgoing: ArrayBuffer[] = [];
	#outgoingBytes = 0;
	/** Bytes sent of the first outgoing message. */
	#sentBytes = 0;
	#isPumping = false;

	/** Received fragments of a message, joined: separate buffers would take many times the memory. */
	#incoming = new ArrayBuffer(0);

	#silenceTimer: Timer | undefined;
	#silences = 0;

	constructor(options: GatewaySocketOptions) {
		this.#options = options;
		const { part, certificate, url, dns } = options;
		this.#ticket = new LookupTicket(dns);
		this.#client = new part({
			host: `${url.host}:${url.port}`,
			port: url.port,
			path: url.path,
			headers: options.headers,
			certificate,
			onUntrusted: (reason) => {
				this.#trustProblem = reason;
			},
			dns: this.#ticket,
			onReadable: (byteCount, { more, binary }) =>
				this.#guard(() => this.#onReadable(byteCount, more, binary)),
			onDate: (date) => this.#guard(() => options.onDate?.(date)),
			onWritable: (byteCount) => this.#guard(() => this.#onWritable(byteCount)),
			onControl: (code, payload) => this.#guard(() => this.#onControl(code, payload)),
			onRejected: (status, retryAfterSeconds) => {
				this.#announcedEnd = endOfRejection(status, retryAfterSeconds);
			},
			onClose: () => this.#fail(),
			onError: () => this.#fail(),
		});
		this.#connectTimer = Timer.set(() => this.#fail("the gateway did not answer in time"), connectTimeoutMs);
	}

	/** Whether a message would be sent immediately. */
	get isDrained(): boolean {
		return this.#canSend && this.#outgoing.length === 0;
	}

	/** Drops the message if the connection is not open or the queue is full. */
	send(text: string): void {
		if (!this.#canSend) return;
		const message = ArrayBuffer.fromString(text);
		if (this.#outgoingBytes + message.byteLength > maxQueueBytes) return;
		this.#outgoing.push(message);
		this.#outgoingBytes += message.byteLength;
		this.#guard(() => this.#pump());
	}

	/** Ends the connection; onClosed is not called. */
	close(): void {
		if (this.#canSend && this.#writableBytes > 0 && this.#sentBytes === 0) {
			// 1000: normal closure.
			this.#guard(() => this.#client?.write(Uint8Array.of(1000 >> 8, 1000 & 0xff), { opcode: opcode.close }));
		}
		this.#release();
	}

	#onReadable(byteCount: number, more: boolean, binary: boolean): void {
		this.#onActivity();
		if (binary) return this.#fail("the gateway sent a binary frame");
		if (this.#incoming.byteLength + byteCount > maxCommandBytes)
			return this.#fail("the gateway sent a message that is too long");
		if (byteCount > 0 && this.#client) this.#incoming = joined(this.#incoming, this.#client.read(byteCount));
		if (more) return;
		let message: unknown;
		try {
			message = JSON.parse(this.#takeText());
		} catch (error) {
			// The host's TCP may have lost bytes (the SDK's does), so the connection is unusable.
			return this.#fail(`the gateway sent an invalid message: ${error}`);
		}
		this.#options.onMessage(message);
	}

	/** A separate method, so that the bytes can be collected while the message is parsed. */
	#takeText(): string {
		const bytes = this.#incoming;
		this.#incoming = new ArrayBuffer(0);
		checkJsonLimits(new Uint8Array(bytes));
		return String.fromArrayBuffer(bytes);
	}

	#onWritable(byteCount: number): void {
		this.#writableBytes = byteCount;
		if (!this.#isOpen) {
			this.#isOpen = true;
			Timer.clear(this.#connectTimer);
			this.#silenceTimer = Timer.repeat(() => this.#guard(() => this.#onSilence()), silenceMs);
			this.#options.onOpen();
			return;
		}
		this.#pump();
	}

	#onControl(code: number, payload: ArrayBuffer): void {
		this.#onActivity();
		if (code !== opcode.close) return;
		const bytes = new Uint8Array(payload);
		const high = bytes[0];
		const low = bytes[1];
		const closeCode = high === undefined || low === undefined ? undefined : (high << 8) | low;
		// At most 123 bytes; String.fromArrayBuffer would throw for non-ASCII bytes.
		this.#announcedEnd = endOfClose(closeCode, String.fromCharCode(...bytes.subarray(2)));
	}

	/** Not reentrant: messages sent within onDrained follow in the loop, since over TLS each nested call would take a quarter of a small XS stack. */
	#pump(): void {
		if (this.#isPumping) return;
		this.#isPumping = true;
		try {
			this.#sendQueue();
		} finally {
			this.#isPumping = false;
		}
	}

	#sendQueue(): void {
		for (;;) {
			const message = this.#outgoing[0];
			if (!message || !this.#client || !this.#canSend) return;
			const remaining = message.byteLength - this.#sentBytes;
			const count = Math.min(remaining, this.#writableBytes);
			if (count < remaining && count < minFragmentBytes) return;
			this.#writableBytes = this.#client.write(new Uint8Array(message, this.#sentBytes, count), {
				binary: false,
				more: count < remaining,
			});
			this.#sentBytes += count;
			if (count < remaining) continue;
			this.#outgoing.shift();
			this.#outgoingBytes -= message.byteLength;
			this.#sentBytes = 0;
			if (this.#outgoing.length === 0) this.#options.onDrained();
		}
	}

	#onActivity(): void {
		this.#silences = 0;
		if (this.#silenceTimer) Timer.schedule(this.#silenceTimer, silenceMs, silenceMs);
	}

	#onSilence(): void {
		this.#silences += 1;
		if (this.#silences >= silencesUntilLost) return this.#fail("the gateway sent nothing for 45 s");
		if (this.#canSend && this.#writableBytes > minFragmentBytes && this.#client)
			this.#writableBytes = this.#client.write(new Uint8Array(0), { opcode: opcode.ping });
	}

	#guard(action: () => void): void {
		if (this.#isClosed) return;
		try {
			action();
		} catch (error) {
			// The SDK's client throws errors without a message.
			const hasReason = error instanceof Error && error.message !== "";
			this.#fail(hasReason ? `the connection failed: ${error}` : undefined);
		}
	}

	/** False after a close frame, too, when the SDK's client would throw. */
	get #canSend(): boolean {
		return this.#isOpen && this.#announcedEnd === undefined;
	}

	/** @param reason undefined: unknown */
	#fail(reason?: string): void {
		if (this.#isClosed) return;
		const end = this.#announcedEnd ?? failed(reason ?? this.#likelyReason());
		this.#release();
		this.#options.onClosed(end);
	}

	#likelyReason(): string {
		const { host, port } = this.#options.url;
		if (this.#ticket.hasFailed) return `the name ${host} was not found`;
		if (this.#isOpen) return "the connection was lost";
		return `no connection to ${host}:${port}${this.#trustProblem === undefined ? "" : `: ${this.#trustProblem}`}`;
	}

	#release(): void {
		this.#isClosed = true;
		this.#isOpen = false;
		this.#ticket.isCancelled = true;
		this.#outgoing.length = 0;
		this.#incoming = new ArrayBuffer(0);
		Timer.clear(this.#connectTimer);
		Timer.clear(this.#silenceTimer);
		attempt("closing a broken connection failed", () => this.#client?.close());
		this.#client = undefined;
	}
}

function joined(start: ArrayBuffer, end: ArrayBuffer): ArrayBuffer {
	if (start.byteLength === 0) return end;
	const bytes = new Uint8Array(start.byteLength + end.byteLength);
	bytes.set(new Uint8Array(start));
	bytes.set(new Uint8Array(end), start.byteLength);
	return bytes.buffer;
}

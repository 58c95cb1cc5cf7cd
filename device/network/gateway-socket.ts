/** One WebSocket connection to the gateway, with a connect timeout and a heartbeat. */

import Timer from "timer";
import { maxCommandBytes } from "../protocol/messages.js";
import { type ConnectionEnd, endOfClose, endOfRejection, failed } from "./connection-end.js";
import { requestHead } from "./http-fields.js";
import { checkJsonLimits } from "./json-limits.js";
import { ResponseHead } from "./response-head.js";
import { Stream, type StreamOptions } from "./stream.js";
import { encodeFrame, FrameReader, opcode } from "./web-socket-frames.js";

/** Includes a TLS handshake in software, which takes seconds. */
const connectTimeoutMs = 20_000;
/** Silence before a ping; after three times as long the connection counts as lost. */
const silenceMs = 15_000;
const silencesUntilLost = 3;
/** Enough: state reports are never queued (state-reporter.ts), only answers to commands. */
const maxQueueBytes = 16 * 1024;

const switchingProtocols = 101;
const normalClosure = 1000;

export interface GatewaySocketOptions
	extends Pick<StreamOptions, "part" | "certificate" | "resolve" | "url"> {
	readonly headers: Iterable<readonly [string, string]>;
	/** Called before onOpen. @param date header of the gateway's response (RFC 9110, 6.6.1) */
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
	readonly #stream: Stream;
	readonly #connectTimer: Timer;
	/** Response to the upgrade; undefined once it is accepted. */
	#head: ResponseHead | undefined = new ResponseHead(["date", "retry-after", "upgrade"]);
	readonly #frames: FrameReader;
	#isClosed = false;
	#silenceTimer: Timer | undefined;
	#silences = 0;

	constructor(options: GatewaySocketOptions) {
		this.#options = options;
		const { url, headers, onDrained } = options;
		this.#frames = new FrameReader({
			maxBytes: maxCommandBytes,
			onMessage: () => this.#onMessage(),
			onControl: (code, payload) => this.#onControl(code, payload),
			onInvalid: (what) => this.#fail(`the gateway sent ${what}`),
		});
		this.#stream = new Stream({
			...options,
			onReadable: () => this.#onReadable(),
			onDrained: () => {
				if (this.#canSend) onDrained();
			},
			onLost: (reason) => this.#onLost(reason),
		});
		const upgrade = [
			["upgrade", "websocket"],
			["connection", "Upgrade"],
			["sec-websocket-version", "13"],
			["sec-websocket-key", randomKey()],
		] as const;
		this.#stream.writeText(requestHead(url, [...upgrade, ...headers]));
		this.#connectTimer = Timer.set(() => this.#fail("the gateway did not answer in time"), connectTimeoutMs);
	}

	/** Whether a message would be sent immediately. */
	get isDrained(): boolean {
		return this.#canSend && this.#stream.queuedBytes === 0;
	}

	/** Drops the message if the connection is not open or the queue is full. */
	send(text: string): void {
		const payload = new Uint8Array(ArrayBuffer.fromString(text));
		if (this.#canSend && this.#stream.queuedBytes + payload.byteLength <= maxQueueBytes)
			this.#stream.write(encodeFrame(opcode.text, payload));
	}

	/** Ends the connection; onClosed is not called. */
	close(): void {
		this.#sendControl(opcode.close, Uint8Array.of(normalClosure >> 8, normalClosure & 0xff));
		this.#release();
	}

	/** Drops the frame if something is queued: a queue of empty frames would take 30 times their length in memory. */
	#sendControl(code: number, payload: Uint8Array): void {
		if (this.isDrained) this.#stream.write(encodeFrame(code, payload));
	}

	#onReadable(): void {
		this.#onActivity();
		while (this.#head && this.#stream.unread > 0) {
			this.#head.read(this.#stream.readLine());
			if (this.#head.isOver) this.#onHead(this.#head);
		}
		this.#frames.read(this.#stream);
	}

	#onHead({ status, fields }: ResponseHead): void {
		if (status !== switchingProtocols || fields.get("upgrade")?.toLowerCase() !== "websocket")
			return this.#fail("the server at the gateway's address is no gateway");
		this.#head = undefined;
		Timer.clear(this.#connectTimer);
		this.#silenceTimer = Timer.repeat(() => this.#onSilence(), silenceMs);
		const date = fields.get("date");
		if (date !== undefined) this.#options.onDate?.(date);
		this.#options.onOpen();
	}

	#onMessage(): void {
		let message: unknown;
		try {
			message = JSON.parse(this.#takeText());
		} catch (error) {
			// The host's TCP may have lost bytes, so the connection is unusable.
			return this.#fail(`the gateway sent an invalid message: ${error}`);
		}
		this.#options.onMessage(message);
	}

	/** A separate method, so that the bytes can be collected while the message is parsed. */
	#takeText(): string {
		const bytes = this.#frames.takeMessage();
		checkJsonLimits(bytes);
		return String.fromArrayBuffer(bytes.buffer);
	}

	#onControl(code: number, payload: Uint8Array): void {
		if (code === opcode.ping) this.#sendControl(opcode.pong, payload);
		if (code !== opcode.close) return;
		const [high, low] = payload;
		const closeCode = high === undefined || low === undefined ? undefined : (high << 8) | low;
		// At most 123 bytes; String.fromArrayBuffer would throw for non-ASCII bytes.
		const reason = String.fromCharCode(...payload.subarray(2));
		this.#sendControl(opcode.close, payload.subarray(0, 2));
		this.#end(endOfClose(closeCode, reason));
	}

	#onActivity(): void {
		this.#silences = 0;
		if (this.#silenceTimer) Timer.schedule(this.#silenceTimer, silenceMs, silenceMs);
	}

	#onSilence(): void {
		this.#silences += 1;
		if (this.#silences >= silencesUntilLost) this.#fail("the gateway sent nothing for 45 s");
		else this.#sendControl(opcode.ping, new Uint8Array(0));
	}

	get #canSend(): boolean {
		return this.#head === undefined && !this.#isClosed;
	}

	#onLost(reason: string | undefined): void {
		if (!this.#head) return this.#fail(reason ?? "the connection was lost");
		const { host, port } = this.#options.url;
		this.#fail(`no connection to ${host}:${port}${reason === undefined ? "" : `: ${reason}`}`);
	}

	/** @param reason used unless the gateway has rejected the upgrade */
	#fail(reason: string): void {
		this.#end(this.#rejection ?? failed(reason));
	}

	#end(end: ConnectionEnd): void {
		if (this.#isClosed) return;
		this.#release();
		this.#options.onClosed(end);
	}

	/** Rejection of the upgrade, also if the connection ended within its head. */
	get #rejection(): ConnectionEnd | undefined {
		const { status = 0, fields } = this.#head ?? {};
		if (status === 0 || status === switchingProtocols) return undefined;
		const retryAfter = fields?.get("retry-after") ?? "";
		return endOfRejection(status, /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : undefined);
	}

	#release(): void {
		this.#isClosed = true;
		Timer.clear(this.#connectTimer);
		Timer.clear(this.#silenceTimer);
		this.#stream.close();
	}
}

/** Nonce of 16 bytes in base64 (RFC 6455, 4.1). The answer to it is not checked: no cache answers these requests. */
function randomKey(): string {
	let key = "";
	while (key.length < 21) key += String.fromCharCode(97 + Math.floor(Math.random() * 26));
	return `${key}A==`;
}

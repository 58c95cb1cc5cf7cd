/** One HTTP connection, for successive requests, with timeouts. Reads into the caller's buffer. */

import Timer from "timer";
import type { Host } from "../host.js";
import { readContentLength, requestFields, requestHead } from "./http-fields.js";
import { ResponseHead } from "./response-head.js";
import { Stream } from "./stream.js";
import type { Url } from "./url.js";

/** Timeout of the first response, including a TLS handshake, which takes seconds. */
const firstResponseMs = 30_000;

/** Response header fields that this firmware reads. */
const readFields = Object.freeze([
	"content-digest",
	"content-length",
	"content-range",
	"etag",
	// Not supported: its presence is an error.
	"transfer-encoding",
]);

/** Network and credentials for HTTP requests. */
export interface HttpAccess {
	readonly network: Pick<Host["network"], "http" | "https" | "resolve">;
	/** Default certificate authority, as DER in base64; undefined: the host's default. */
	readonly certificate: string | undefined;
	/** Returns the header fields that authorize requests to a server. */
	headersFor(url: Url): Iterable<readonly [string, string]>;
}

export interface ConnectionOptions {
	readonly http: HttpAccess;
	readonly url: Url;
	/** Certificate authority used instead of the default one. */
	readonly certificate?: string | undefined;
	/** Timeout of silence after the first response. */
	readonly stallMs: number;
	/** Whether the caller currently reads; while it does not, silence is no error. Absent: it always reads. */
	readonly isReading?: () => boolean;
	/** Must close the connection if the response has no body. */
	readonly onHeaders: (status: number, headers: ReadonlyMap<string, string>) => void;
	readonly onReadable: (byteCount: number) => void;
	/** Called when the response is complete, in a new turn, in which get() may be called. */
	readonly onComplete: () => void;
	/** Called at most once, last. */
	readonly onLost: (reason: string) => void;
}

export class Connection {
	readonly #options: ConnectionOptions;
	readonly #stream: Stream;
	/** Head of the response being read; undefined within a body. */
	#head: ResponseHead | undefined;
	/** Unread bytes of the body; Infinity if its end is unknown. */
	#left = 0;
	#limitMs = firstResponseMs;
	readonly #silenceTimer: Timer;
	#lossTimer: Timer | undefined;
	#nextTurnTimer: Timer | undefined;
	#hasResponded = false;
	#isClosed = false;

	constructor(options: ConnectionOptions) {
		this.#options = options;
		const { http, url, certificate = http.certificate } = options;
		const { network } = http;
		this.#silenceTimer = Timer.repeat(() => this.#onSilence(), this.#limitMs / 2);
		this.#stream = new Stream({
			part: url.isSecure ? network.https : network.http,
			certificate,
			resolve: network.resolve,
			url,
			onReadable: () => this.#onReadable(),
			onLost: (reason = "the connection broke off") => this.#lose(reason),
		});
	}

	get hasResponded(): boolean {
		return this.#hasResponded;
	}

	/** Requests the URL. @param range `bytes=…`; undefined: the whole file @param etag of earlier responses */
	get(range?: string, etag?: string): void {
		if (this.#isClosed) return;
		const { http, url } = this.#options;
		this.#onActivity();
		this.#head = new ResponseHead(readFields);
		this.#stream.writeText(requestHead(url, requestFields(http.headersFor(url), range, etag)));
	}

	/** @param buffer not longer than the byte count passed to onReadable */
	read(buffer: Uint8Array): void {
		this.#stream.read(buffer);
		this.#left -= buffer.byteLength;
		if (this.#left > 0) return;
		// In a new turn, since the caller is still inside its read.
		this.#nextTurnTimer = Timer.set(() => {
			this.#onActivity();
			this.#options.onComplete();
		});
	}

	close(): void {
		this.#isClosed = true;
		Timer.clear(this.#silenceTimer);
		Timer.clear(this.#lossTimer);
		Timer.clear(this.#nextTurnTimer);
		this.#stream.close();
	}

	#onReadable(): void {
		while (this.#head && this.#stream.unread > 0) {
			this.#head.read(this.#stream.readLine());
			if (this.#head.isOver) this.#onHead(this.#head);
		}
		const count = Math.min(this.#stream.unread, this.#left);
		if (count === 0) return;
		this.#onActivity();
		this.#options.onReadable(count);
	}

	#onHead({ status = 0, fields }: ResponseHead): void {
		if (status === 0) return this.#lose("the response is not HTTP");
		this.#head = undefined;
		this.#hasResponded = true;
		this.#limitMs = this.#options.stallMs;
		this.#onActivity();
		this.#left = readContentLength(fields.get("content-length")) ?? Number.POSITIVE_INFINITY;
		this.#options.onHeaders(status, fields);
	}

	#onActivity(): void {
		Timer.clear(this.#lossTimer);
		this.#lossTimer = undefined;
		const halfMs = this.#limitMs / 2;
		Timer.schedule(this.#silenceTimer, halfMs, halfMs);
	}

	/** Waits in two halves: after a long turn, the timer fires before received bytes are reported. */
	#onSilence(): void {
		if (this.#options.isReading?.() === false) return;
		this.#lossTimer ??= Timer.set(
			() => this.#lose(`nothing was received for ${this.#limitMs / 1000} s`),
			this.#limitMs / 2,
		);
	}

	#lose(reason: string): void {
		if (this.#isClosed) return;
		this.close();
		this.#options.onLost(reason);
	}
}

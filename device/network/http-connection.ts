/**
 * One HTTP connection. Adds what the SDK's client lacks: timeouts, cancellation of the DNS lookup, and callbacks that
 * never throw (an exception would restart the board). Reads into the caller's buffer.
 */

import Timer from "timer";
import type { Host, HttpClient, HttpClientOptions, HttpRequest, TrustOptions } from "../host.js";
import { requestFields } from "./http-fields.js";
import { LookupTicket } from "./lookup.js";
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
	readonly network: Pick<Host["network"], "http" | "https" | "dns">;
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
	readonly onHeaders: (status: number, headers: ReadonlyMap<string, string>) => void;
	readonly onReadable: (byteCount: number) => void;
	/** Called when the response is complete, in a new turn, in which get() may be called. */
	readonly onComplete: () => void;
	/** Called at most once, last. */
	readonly onLost: (reason: string) => void;
}

export class Connection {
	readonly #options: ConnectionOptions;
	readonly #ticket: LookupTicket;
	#client: HttpClient | undefined;
	#request: HttpRequest | undefined;
	#limitMs = firstResponseMs;
	readonly #silenceTimer: Timer;
	#lossTimer: Timer | undefined;
	#nextTurnTimer: Timer | undefined;
	#hasResponded = false;
	/** Reason for rejecting the server's certificate. */
	#trustProblem: string | undefined;
	#isClosed = false;

	constructor(options: ConnectionOptions) {
		this.#options = options;
		this.#ticket = new LookupTicket(options.http.network.dns);
		this.#silenceTimer = Timer.repeat(() => this.#onSilence(), this.#limitMs / 2);
		try {
			const client = this.#open();
			if (this.#isClosed) client.close();
			else this.#client = client;
		} catch (error) {
			this.#loseSoon(`the connection failed: ${error}`);
		}
	}

	get hasResponded(): boolean {
		return this.#hasResponded;
	}

	/** Requests the URL. @param range `bytes=…`; undefined: the whole file @param etag of earlier responses */
	get(range?: string, etag?: string): void {
		if (this.#isClosed) return;
		const { http, url } = this.#options;
		this.#onActivity();
		try {
			this.#request = this.#client?.request({
				path: url.path,
				headers: requestFields(http.headersFor(url), range, etag),
				headersMask: [...readFields],
				onHeaders: (status, fields) =>
					this.#guard(() => {
						this.#hasResponded = true;
						this.#limitMs = this.#options.stallMs;
						this.#options.onHeaders(status, fields);
					}),
				onReadable: (byteCount) => this.#guard(() => this.#options.onReadable(byteCount)),
				onDone: (error) => {
					if (error) return this.#lose(this.#trustProblem ?? "the connection broke off");
					this.#guard(() => {
						// The SDK loses a request that is made from within onDone.
						this.#nextTurnTimer = Timer.set(() => this.#guard(() => this.#options.onComplete()));
					});
				},
			});
		} catch (error) {
			this.#loseSoon(`the connection failed: ${error}`);
		}
	}

	/** @param buffer not longer than the byte count passed to onReadable */
	read(buffer: Uint8Array): void {
		this.#request?.read(buffer);
	}

	close(): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#ticket.isCancelled = true;
		Timer.clear(this.#silenceTimer);
		Timer.clear(this.#lossTimer);
		Timer.clear(this.#nextTurnTimer);
		this.#request = undefined;
		try {
			this.#client?.close();
		} catch {
			// The connection was broken already.
		}
		this.#client = undefined;
	}

	#open(): HttpClient {
		const { http, url, certificate = http.certificate } = this.#options;
		const options: HttpClientOptions & Pick<TrustOptions, "onUntrusted"> = {
			host: `${url.host}:${url.port}`,
			port: url.port,
			dns: this.#ticket,
			onUntrusted: (reason) => {
				this.#trustProblem = reason;
			},
			onError: () => this.#lose(this.#trustProblem ?? "the connection broke off"),
		};
		return url.isSecure
			? new http.network.https({ ...options, certificate })
			: new http.network.http(options);
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

	#guard(action: () => void): void {
		if (this.#isClosed) return;
		this.#onActivity();
		try {
			action();
		} catch (error) {
			this.#lose(`the connection failed: ${error}`);
		}
	}

	/** Reports the loss in a new turn, since the owner is still inside its call. */
	#loseSoon(reason: string): void {
		this.#nextTurnTimer = Timer.set(() => this.#lose(reason));
	}

	#lose(reason: string): void {
		if (this.#isClosed) return;
		this.close();
		this.#options.onLost(reason);
	}
}

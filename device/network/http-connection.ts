/**
 * One HTTP connection. Adds what the SDK's client lacks: timeouts, cancellation of the DNS lookup, and callbacks that
 * never throw (an exception would restart the board). Reads into the caller's buffer.
 */

import Timer from "timer";
import type {
	Host,
	HttpClient,
	HttpClientOptions,
	HttpRequest,
	ResolverOption,
	TrustOptions,
} from "../host.js";
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

/** Implemented in lookup.ts. */
export interface CancellableLookup extends ResolverOption {
	isCancelled: boolean;
}

export interface ConnectionOptions {
	readonly connect: (options: HttpClientOptions & Pick<TrustOptions, "onUntrusted">) => HttpClient;
	readonly lookup: CancellableLookup;
	readonly url: Url;
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

/** @param certificate the authority as DER in base64; undefined: the host's default */
export function openHttp(
	{ http, https }: Pick<Host["network"], "http" | "https">,
	url: Url,
	options: HttpClientOptions,
	certificate: string | undefined,
): HttpClient {
	return url.isSecure ? new https({ ...options, certificate }) : new http(options);
}

export class Connection {
	readonly #options: ConnectionOptions;
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
		const { url, lookup, connect } = options;
		this.#silenceTimer = Timer.repeat(() => this.#onSilence(), this.#limitMs / 2);
		try {
			const client = connect({
				host: `${url.host}:${url.port}`,
				port: url.port,
				dns: lookup,
				onUntrusted: (reason) => {
					this.#trustProblem = reason;
				},
				onError: () => this.#lose(this.#trustProblem ?? "the connection broke off"),
			});
			if (this.#isClosed) client.close();
			else this.#client = client;
		} catch (error) {
			this.#loseSoon(`the connection failed: ${error}`);
		}
	}

	get hasResponded(): boolean {
		return this.#hasResponded;
	}

	get(path: string, headers: Map<string, string>): void {
		if (this.#isClosed) return;
		this.#onActivity();
		try {
			this.#request = this.#client?.request({
				path,
				headers,
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
		this.#options.lookup.isCancelled = true;
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

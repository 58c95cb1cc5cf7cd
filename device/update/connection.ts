/**
 * One connection to the firmware's server, with what the SDK's HTTP client lacks: it notices silence, cancels a name
 * look-up when it is closed, lets no exception out of a callback (on a board that is a restart), and is silent once it has
 * ended. It fills the caller's buffer; nothing is allocated for a body.
 */

import Timer from "timer";
import type { HttpClient, HttpRequest, ResolverOption } from "../host.js";
import type { FirmwareUrl } from "./firmware-url.js";

/** Without a byte for this long, a connection that has not answered yet counts as lost: a TLS handshake takes seconds. */
const firstAnswerMs = 30_000;

/** A way to the resolver that can be cut (network/lookup.ts). */
export interface CancellableLookup extends ResolverOption {
	isCancelled: boolean;
}

export interface ConnectionOptions {
	/** Makes the host's client, http or https. */
	readonly connect: (options: {
		host: string;
		port: number;
		dns: ResolverOption;
		onError: () => void;
	}) => HttpClient;
	readonly lookup: CancellableLookup;
	readonly url: FirmwareUrl;
	/** Once the server has answered, the connection counts as lost after this long without a byte of what was asked for. */
	readonly stallMs: number;
	readonly onHeaders: (status: number, headers: ReadonlyMap<string, string>) => void;
	/** `byteCount` bytes can be read. */
	readonly onReadable: (byteCount: number) => void;
	/** The answer is whole; ask next in a later turn, which is when this is called. */
	readonly onAnswered: () => void;
	/** The connection is gone, and this object with it. */
	readonly onLost: (reason: string) => void;
}

export class Connection {
	readonly #options: ConnectionOptions;
	#client: HttpClient | undefined;
	#request: HttpRequest | undefined;
	#limitMs = firstAnswerMs;
	#silenceTimer: Timer | undefined;
	/** Runs for the second half of the limit. */
	#lossTimer: Timer | undefined;
	#answeredTimer: Timer | undefined;
	#hasHeard = false;
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
				onError: () => this.#lose("the connection broke off"),
			});
			if (this.#isClosed) client.close();
			else this.#client = client;
		} catch (error) {
			this.#loseSoon(`the connection failed: ${error}`);
		}
	}

	/** Whether the server ever answered on this connection. */
	get hasHeard(): boolean {
		return this.#hasHeard;
	}

	get(path: string, headers: Map<string, string>): void {
		if (this.#isClosed) return;
		this.#heard();
		try {
			this.#request = this.#client?.request({
				path,
				headers,
				onHeaders: (status, fields) =>
					this.#guard(() => {
						this.#hasHeard = true;
						this.#limitMs = this.#options.stallMs;
						this.#options.onHeaders(status, fields);
					}),
				onReadable: (byteCount) => this.#guard(() => this.#options.onReadable(byteCount)),
				onDone: (error) => {
					if (error) return this.#lose("the connection broke off");
					this.#guard(() => {
						// The SDK loses a request that is made from within onDone.
						this.#answeredTimer = Timer.set(() => this.#guard(() => this.#options.onAnswered()));
					});
				},
			});
		} catch (error) {
			this.#loseSoon(`the connection failed: ${error}`);
		}
	}

	/** Reads as many bytes as `buffer` has; onReadable offered at least as many. */
	read(buffer: Uint8Array): void {
		this.#request?.read(buffer);
	}

	/** Nothing is called after this. */
	close(): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#options.lookup.isCancelled = true;
		Timer.clear(this.#silenceTimer);
		Timer.clear(this.#lossTimer);
		Timer.clear(this.#answeredTimer);
		this.#silenceTimer = undefined;
		this.#lossTimer = undefined;
		this.#answeredTimer = undefined;
		this.#request = undefined;
		try {
			this.#client?.close();
		} catch {
			// It was broken already.
		}
		this.#client = undefined;
	}

	#heard(): void {
		Timer.clear(this.#lossTimer);
		this.#lossTimer = undefined;
		const halfMs = this.#limitMs / 2;
		if (this.#silenceTimer) Timer.schedule(this.#silenceTimer, halfMs, halfMs);
	}

	/** In two halves: after a turn that took long, its own timer fires before the bytes that came meanwhile are told. */
	#onSilence(): void {
		this.#lossTimer ??= Timer.set(
			() => this.#lose(`nothing came for ${this.#limitMs / 1000} s`),
			this.#limitMs / 2,
		);
	}

	#guard(action: () => void): void {
		if (this.#isClosed) return;
		this.#heard();
		try {
			action();
		} catch (error) {
			this.#lose(`the connection failed: ${error}`);
		}
	}

	/** For what fails while the owner still asks. */
	#loseSoon(reason: string): void {
		this.#answeredTimer = Timer.set(() => this.#lose(reason));
	}

	#lose(reason: string): void {
		if (this.#isClosed) return;
		this.close();
		this.#options.onLost(reason);
	}
}

/**
 * Downloads firmware block by block and delivers verified blocks only, in order, each once. TCP that loses bytes without
 * an error (the SDK's does), broken connections and server restarts cost a block each, never the update. Retries are
 * bounded.
 */

import Timer from "timer";
import type { Digest, Part } from "../host.js";
import { messageOf } from "../message-of.js";
import { Connection, type HttpAccess } from "../network/http-connection.js";
import type { Url } from "../network/url.js";
import { BlockReader } from "./block-reader.js";
import { type DownloadProblem, maxDrops, Retries } from "./retries.js";

/** Maximum time for a block, which bridges the longest silence: 546 bytes/s, an eighth of what GPRS (4 KB/s) achieves. */
const maxBlockMs = 30_000;

export interface DownloadOptions {
	readonly http: HttpAccess;
	readonly url: Url;
	/** Certificate authority used instead of the default one. */
	readonly certificate?: string | undefined;
	readonly sha256: Part<object, Digest>;
	/** Buffer of the length of a block; in use until onEnd. */
	readonly buffer: Uint8Array;
	/** Monotonic milliseconds. */
	readonly now: () => number;
	/** Whether the gateway is connected; an interrupted download waits for it. */
	readonly isOnline: () => boolean;
	/**
	 * Receives the next verified piece: at most 4 KiB; the first at least 4 KiB or the whole file. Valid during the call; an
	 * exception ends the download. @param total the file's length in bytes
	 * @returns whether the piece was consumed; if not, it is delivered again in a later turn, which requires `isPaced`
	 */
	readonly onPiece: (piece: Uint8Array, total: number) => boolean;
	/** Whether a piece may take many turns: then no block is fetched before the last one is consumed. */
	readonly isPaced?: boolean;
	/** @param reason a sentence that explains the failure; undefined: success */
	readonly onEnd: (reason: string | undefined) => void;
}

export class Download {
	readonly #options: DownloadOptions;
	readonly #reader: BlockReader;
	readonly #retries: Retries;
	/** Time at which the current block was requested, or the previous one was complete. */
	#blockSinceMs = 0;
	/** Resumed by each event. An async function would take 1.5 KB more heap and produce 700 bytes of garbage per await. */
	readonly #loop: Generator<undefined, void>;
	#connection: Connection | undefined;
	/** Whether the loop runs or has ended. */
	#isBusy = false;
	/** Whether the requested block is complete. */
	#isReceived = false;
	/** Why the connection is no longer usable. */
	#interruption: DownloadProblem | undefined;
	#pause: Timer | undefined;
	#isAwaitingGateway = false;

	static {
		// XS's linker leaves objects in RAM that are not frozen.
		Object.freeze(Download.prototype.run.prototype);
	}

	constructor(options: DownloadOptions) {
		this.#options = options;
		this.#reader = new BlockReader(options.buffer, options.sha256);
		this.#retries = new Retries(options.now);
		this.#loop = this.run();
		// In a new turn, since the calls of the command leave too little stack.
		this.#startPause(0);
	}

	/** Continues a download that waits for the gateway to be connected again. */
	resume(): void {
		if (!this.#isAwaitingGateway) return;
		this.#isAwaitingGateway = false;
		this.#endPause();
	}

	/** Ends the download without onEnd. */
	close(): void {
		this.#isBusy = true;
		Timer.clear(this.#pause);
		this.#pause = undefined;
		this.#hangUp();
		this.#reader.close();
	}

	/** @throws Error whose message is the reason for onEnd */
	private *run(): Generator<undefined, void> {
		const reader = this.#reader;
		this.#connect();
		for (;;) {
			while (!this.#isReceived && !this.#interruption) yield;
			if (!this.#isReceived || !reader.verify()) {
				this.#prepareRetry();
				while (this.#pause) yield;
				if (this.#isAwaitingGateway) throw new Error(this.#interruption?.reason);
				this.#connect();
				continue;
			}
			this.#isReceived = false;
			this.#blockSinceMs = this.#options.now();
			// Received while this block is written.
			if (!this.#options.isPaced && reader.isInParts && !reader.isDone) this.#request();
			while (reader.isDelivering) {
				this.#startPause(0);
				while (this.#pause) yield;
				reader.deliver(this.#options.onPiece);
			}
			this.#retries.onProgress();
			if (reader.isDone) return;
			if (!this.#options.isPaced) continue;
			// A server may close an idle connection.
			if (this.#interruption) this.#connect();
			else this.#request();
		}
	}

	/** Runs the loop until it waits for the next event. */
	#continue(): void {
		if (this.#isBusy) return;
		this.#isBusy = true;
		let reason: string | undefined;
		try {
			this.#isBusy = this.#loop.next().done === true;
			if (!this.#isBusy) return;
		} catch (error) {
			reason = messageOf(error);
		}
		this.close();
		this.#options.onEnd(reason);
	}

	#startPause(ms: number): void {
		this.#pause = Timer.set(() => this.#endPause(), ms);
	}

	#endPause(): void {
		Timer.clear(this.#pause);
		this.#pause = undefined;
		this.#continue();
	}

	#connect(): void {
		const { http, url, certificate, isPaced } = this.#options;
		this.#interruption = undefined;
		this.#isReceived = false;
		this.#connection = new Connection({
			http,
			url,
			certificate,
			stallMs: this.#retries.stallMs,
			isReading: () => !isPaced || !this.#reader.isDelivering,
			onHeaders: (status, headers) => this.#onHeaders(status, headers),
			onReadable: (byteCount) => this.#onReadable(byteCount),
			onComplete: () => this.#onComplete(),
			onLost: (reason) => this.#onLost(reason),
		});
		this.#request();
	}

	#request(): void {
		this.#blockSinceMs = this.#options.now();
		if (this.#connection) this.#reader.request(this.#connection);
	}

	#onHeaders(status: number, headers: ReadonlyMap<string, string>): void {
		const problem = this.#reader.begin(status, headers);
		if (problem) this.#interrupt(problem);
		else if (this.#options.isPaced && !this.#reader.isInParts)
			this.#interrupt({ kind: "end", reason: "The server does not support range requests for the patch." });
	}

	#onReadable(byteCount: number): void {
		if (this.#options.now() - this.#blockSinceMs > maxBlockMs)
			return this.#onLost("the server sends too slowly");
		for (let left = byteCount; left > 0 && this.#connection; ) {
			const room = this.#reader.reserve(left);
			if (!room)
				return this.#interrupt({ kind: "retry", reason: "The server sends more than it announced." });
			if (room.byteLength === 0) {
				// Flash is slower than the network.
				this.#endPause();
				continue;
			}
			this.#connection.read(room);
			this.#reader.add(room);
			left -= room.byteLength;
			// A part is known to be complete only in onComplete.
			if (this.#reader.isFull && !this.#reader.isInParts) this.#onReceived();
		}
	}

	#onComplete(): void {
		if (!this.#reader.isFull) return this.#onLost("the server sent less than it announced");
		if (this.#reader.isInParts) this.#onReceived();
	}

	#onReceived(): void {
		this.#isReceived = true;
		this.#continue();
	}

	#onLost(cause: string): void {
		const { offset, position } = this.#reader;
		const { host, port } = this.#options.url;
		const ended = cause.endsWith(".") ? cause : `${cause}.`;
		const reason =
			this.#connection?.hasResponded || offset > 0
				? `The download failed at ${position}: ${ended}`
				: `${host}:${port} is unreachable after ${1 + maxDrops} attempts: ${ended}`;
		this.#interrupt({ kind: "lost", reason });
	}

	#interrupt(interruption: DownloadProblem): void {
		this.#interruption = interruption;
		this.#hangUp();
		this.#continue();
	}

	/** Starts the pause before the next connection. @throws Error if the retries are exhausted */
	#prepareRetry(): void {
		const retries = this.#retries;
		const { offset, position } = this.#reader;
		this.#hangUp();
		// After lost or duplicated bytes, the next response would begin at the wrong offset.
		if (this.#isReceived || !this.#interruption) return this.#startPause(retries.onDamaged(position));
		// A device that is offline cannot distinguish a lost network from a lost server.
		this.#isAwaitingGateway = !this.#options.isOnline();
		this.#startPause(retries.onProblem(this.#interruption, offset, !this.#isAwaitingGateway));
	}

	#hangUp(): void {
		this.#connection?.close();
		this.#connection = undefined;
	}
}

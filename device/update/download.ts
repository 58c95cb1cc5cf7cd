/**
 * Downloads a firmware block by block and passes on verified blocks only, in order, each once. TCP that loses bytes
 * without an error (the SDK's does), broken connections and restarted servers cost a block each, never the update;
 * retries are bounded.
 */

import Timer from "timer";
import type { Digest, Part } from "../host.js";
import { type CancellableLookup, Connection, type ConnectionOptions } from "../network/http-connection.js";
import type { Url } from "../network/url.js";
import { judge, type Known } from "./answer.js";
import { isBase64Of } from "./base64.js";

/** Passed on per turn: the unit of an erase, which with the write blocks everything for tens of milliseconds. */
const pieceBytes = 4 * 1024;
/** Lost connections without progress (below) that end the update. */
const mostDrops = 5;
const progressBytes = 1024 * 1024;
const progressMs = 30_000;
/** Of a damaged block. */
const mostRefetches = 3;
/** Before the first reconnection; doubled for each further one, with jitter in the upper half. */
const retryDelayMs = 1_000;
/** Longest silence; doubled after each drop, for slow lines. */
const stallMs = 2_000;
const longestStallMs = 30_000;
/** Longest wait for the device's own connection without progress. */
const longestWaitMs = 600_000;

export interface DownloadOptions {
	readonly connect: ConnectionOptions["connect"];
	readonly createLookup: () => CancellableLookup;
	readonly sha256: Part<object, Digest>;
	readonly url: Url;
	readonly headers: Iterable<readonly [string, string]>;
	/** As long as the block of a request; reserved until onEnd. */
	readonly buffer: Uint8Array;
	/** Monotonic milliseconds. */
	readonly now: () => number;
	/** Whether the gateway is connected; a lost download waits for it. */
	readonly isOnline: () => boolean;
	/**
	 * The next verified piece: at most 4 KiB; the first at least 4 KiB or the whole file. Valid during the call; an
	 * exception ends the download. @param total the file's length in bytes
	 * @returns whether it is used up; if not, it comes again in a later turn, which only `isPaced` allows
	 */
	readonly onPiece: (piece: Uint8Array, total: number) => boolean;
	/** A piece may take many turns: no block is fetched before the last one is used up. */
	readonly isPaced?: boolean;
	/** @param reason a sentence that says why it failed, if it did */
	readonly onEnd: (reason: string | undefined) => void;
}

export class Download {
	readonly #options: DownloadOptions;
	readonly #blockBytes: number;
	#connection: Connection | undefined;
	#retryTimer: Timer | undefined;
	#pieceTimer: Timer | undefined;
	#known: Known | undefined;
	#isOver = false;

	/** Start of the block that is requested next or being received. */
	#offset = 0;
	/** End of the previous block in the buffer until it is passed on, then 0. */
	#waiting = 0;
	/** Bytes of that block already passed on. */
	#handedOn = 0;
	#isProven = false;
	/** Its digest from the server. */
	#waitingSha256: string | undefined;
	/** Bytes of the next block in the buffer. */
	#filled = 0;
	/** Offset of the next byte to read; below `#offset` while a stream without ranges is repeated. */
	#position = 0;
	/** End of the current response. */
	#end = 0;
	#sha256: string | undefined;

	#drops = 0;
	/** Where the drops were last reset, and how long blocks have been received since. */
	#countedFrom = 0;
	#progressMs = 0;
	/** When the last block was complete, or this connection began. */
	#movedAtMs: number;
	/** When the last block was complete, or the download began. */
	#progressAtMs: number;
	#waitTimer: Timer | undefined;
	#refetches = 0;
	/** The server's last refusal, and the offset that was requested. */
	#complaint: { readonly reason: string; readonly offset: number } | undefined;

	constructor(options: DownloadOptions) {
		this.#options = options;
		this.#blockBytes = options.buffer.byteLength;
		this.#movedAtMs = options.now();
		this.#progressAtMs = this.#movedAtMs;
		this.#connect();
	}

	/** Call it when the gateway is connected again. */
	resume(): void {
		if (!this.#waitTimer) return;
		Timer.clear(this.#waitTimer);
		this.#waitTimer = undefined;
		this.#connect();
	}

	#connect(): void {
		const { connect, createLookup, url, now } = this.#options;
		this.#movedAtMs = now();
		this.#connection = new Connection({
			connect,
			lookup: createLookup(),
			url,
			stallMs: Math.min(longestStallMs, stallMs * 2 ** this.#drops),
			isReading: () => !this.#options.isPaced || this.#waiting === 0,
			onHeaders: (status, headers) => this.#onHeaders(status, headers),
			onReadable: (byteCount) => this.#onReadable(byteCount),
			onAnswered: () => this.#onAnswered(),
			onLost: (reason) => this.#onLost(reason),
		});
		this.#ask();
	}

	#ask(): void {
		const headers = new Map(this.#options.headers);
		headers.set("accept-encoding", "identity");
		if (this.#known?.isInParts !== false) {
			headers.set("range", `bytes=${this.#offset}-${this.#offset + this.#blockBytes - 1}`);
			const etag = this.#known?.etag;
			// A weak one must not be sent (RFC 9110, 13.1.5).
			if (etag && !etag.startsWith("W/")) headers.set("if-range", etag);
		}
		this.#filled = 0;
		this.#end = 0;
		this.#connection?.get(this.#options.url.path, headers);
	}

	#onHeaders(status: number, headers: ReadonlyMap<string, string>): void {
		if (!this.#prove()) return;
		const verdict = judge(status, headers, {
			offset: this.#offset,
			byteLength: this.#blockBytes,
			known: this.#known,
		});
		switch (verdict.kind) {
			case "bytes":
				if (this.#options.isPaced && !verdict.known.isInParts)
					return this.#finish("The server does not send the patch in parts.");
				this.#known = verdict.known;
				this.#position = verdict.first;
				this.#end = verdict.first + verdict.expected;
				this.#sha256 = verdict.sha256;
				return;
			case "retry":
				return this.#complain(verdict.reason);
			case "end":
				return this.#finish(verdict.reason);
		}
	}

	#onReadable(byteCount: number): void {
		const { buffer } = this.#options;
		const blockBytes = this.#blockBytes;
		for (let left = byteCount; left > 0 && this.#known && this.#connection; ) {
			// A stream without ranges repeats earlier bytes.
			const isRepeated = this.#position < this.#offset;
			const start = isRepeated ? 0 : this.#filled;
			const room = isRepeated ? Math.min(blockBytes, this.#offset - this.#position) : blockBytes - start;
			const count = Math.min(left, this.#end - this.#position, room);
			if (count === 0) return this.#complain("The server sends more than it announced.");
			const free = this.#waiting === 0 ? blockBytes : this.#handedOn;
			if (free <= start) {
				if (!this.#handOn()) return;
				continue;
			}
			const taken = Math.min(count, free - start);
			this.#connection.read(buffer.subarray(start, start + taken));
			left -= taken;
			this.#position += taken;
			if (isRepeated) continue;
			this.#filled += taken;
			const { total, isInParts } = this.#known;
			const isBlock = this.#filled === blockBytes || this.#position === total;
			// A part is known to be complete only in onAnswered.
			if (!isBlock || isInParts) continue;
			if (!this.#endBlock(undefined)) return;
			this.#pieceTimer ??= Timer.set(() => this.#onPieceTimer());
		}
	}

	#onAnswered(): void {
		const known = this.#known;
		if (!known || this.#position < this.#end) return this.#onLost("the server sent less than it announced");
		if (!known.isInParts) return;
		if (!this.#endBlock(this.#sha256)) return;
		// The next block is received while this one is verified and written. The SDK's request is sent from a timer,
		// which must be set before this one.
		if (!this.#options.isPaced && this.#offset < known.total) this.#ask();
		this.#pieceTimer ??= Timer.set(() => this.#onPieceTimer());
	}

	/** @returns whether the response is still wanted */
	#endBlock(sha256: string | undefined): boolean {
		while (this.#waiting > 0) if (!this.#handOn()) return false;
		this.#waiting = this.#filled;
		this.#handedOn = 0;
		this.#isProven = false;
		this.#waitingSha256 = sha256;
		this.#offset += this.#filled;
		this.#filled = 0;
		return true;
	}

	#onPieceTimer(): void {
		this.#pieceTimer = undefined;
		if (!this.#handOn()) return;
		if (this.#waiting > 0) this.#pieceTimer = Timer.set(() => this.#onPieceTimer());
		else if (this.#options.isPaced) this.#askAgain();
	}

	/** A server closes a connection that is idle for long. */
	#askAgain(): void {
		if (this.#connection) this.#ask();
		else this.#connect();
	}

	/** Passes on the next piece. @returns whether the response is still wanted */
	#handOn(): boolean {
		if (!this.#prove()) return false;
		if (this.#waiting === 0) return true;
		const { buffer, onPiece } = this.#options;
		const piece = buffer.subarray(this.#handedOn, Math.min(this.#waiting, this.#handedOn + pieceBytes));
		const total = this.#known?.total ?? 0;
		let isUsedUp: boolean;
		try {
			isUsedUp = onPiece(piece, total);
		} catch (error) {
			this.#finish(error instanceof Error ? error.message : String(error));
			return false;
		}
		if (!isUsedUp) return true;
		this.#handedOn += piece.byteLength;
		const isWhole = this.#handedOn === this.#waiting;
		if (isWhole) {
			this.#waiting = 0;
			this.#onProgress();
		}
		if (!isWhole || this.#offset < total) return true;
		this.#finish(undefined);
		return false;
	}

	/** Compares the block with its digest, once. @returns whether the response is still wanted */
	#prove(): boolean {
		if (this.#waiting === 0 || this.#isProven) return !this.#isOver;
		if (!this.#matchesDigest(this.#options.buffer.subarray(0, this.#waiting))) {
			this.#offset -= this.#waiting;
			this.#waiting = 0;
			this.#refetch();
			return false;
		}
		this.#isProven = true;
		this.#refetches = 0;
		return true;
	}

	#matchesDigest(block: Uint8Array): boolean {
		if (this.#waitingSha256 === undefined) return true;
		const digest = new this.#options.sha256({});
		digest.write(block);
		return isBase64Of(this.#waitingSha256, new Uint8Array(digest.close()));
	}

	/** Resets the count of drops: a slow line that loses its connection now and then must succeed. */
	#onProgress(): void {
		const now = this.#options.now();
		this.#progressMs += now - this.#movedAtMs;
		this.#movedAtMs = now;
		this.#progressAtMs = now;
		if (this.#progressMs < progressMs && this.#offset - this.#countedFrom < progressBytes) return;
		this.#drops = 0;
		this.#progressMs = 0;
		this.#countedFrom = this.#offset;
	}

	#refetch(): void {
		this.#refetches += 1;
		if (this.#refetches > mostRefetches)
			return this.#finish(`The firmware arrives damaged, ${1 + mostRefetches} times at ${this.#where()}.`);
		// After lost or doubled bytes the next response would begin at the wrong place.
		this.#reconnect(0);
	}

	#complain(reason: string): void {
		const previous = this.#complaint;
		if (previous && previous.reason === reason && previous.offset === this.#offset)
			return this.#finish(reason);
		this.#complaint = { reason, offset: this.#offset };
		this.#drop(reason);
	}

	#onLost(reason: string): void {
		if (!this.#prove()) return;
		// Everything was received and has only to be written.
		if (this.#offset > 0 && this.#offset === this.#known?.total) return;
		if (this.#options.isPaced && this.#waiting > 0) return this.#hangUp();
		if (this.#connection?.hasHeard || this.#offset > 0)
			return this.#drop(`The download failed at ${this.#where()}: ${reason}.`);
		const { host, port } = this.#options.url;
		this.#drop(`${host}:${port} cannot be reached: ${reason}, in each of ${1 + mostDrops} attempts.`);
	}

	/** @param reason the update's error if this was the last attempt */
	#drop(reason: string): void {
		if (!this.#options.isOnline()) return this.#awaitConnection(reason);
		this.#drops += 1;
		if (this.#drops > mostDrops) return this.#finish(reason);
		this.#reconnect(retryDelayMs * 2 ** (this.#drops - 1) * (0.5 + Math.random() / 2));
	}

	#reconnect(delayMs: number): void {
		this.#hangUp();
		this.#retryTimer = Timer.set(() => {
			this.#retryTimer = undefined;
			this.#connect();
		}, Math.round(delayMs));
	}

	/** Without its own connection the device cannot distinguish a lost network from a lost server. */
	#awaitConnection(reason: string): void {
		this.#hangUp();
		const leftMs = this.#progressAtMs + longestWaitMs - this.#options.now();
		if (leftMs <= 0) return this.#finish(reason);
		this.#waitTimer = Timer.set(() => {
			this.#waitTimer = undefined;
			this.#finish(reason);
		}, leftMs);
	}

	#hangUp(): void {
		this.#connection?.close();
		this.#connection = undefined;
	}

	#where(): string {
		return `byte ${this.#offset}${this.#known ? ` of ${this.#known.total}` : ""}`;
	}

	#finish(reason: string | undefined): void {
		if (this.#isOver) return;
		this.#isOver = true;
		this.#hangUp();
		Timer.clear(this.#retryTimer);
		Timer.clear(this.#waitTimer);
		Timer.clear(this.#pieceTimer);
		this.#options.onEnd(reason);
	}
}

/**
 * Fetches a firmware block by block, and hands on only blocks that are proven, in order, each once. A host's TCP may lose
 * bytes without an error (the SDK's does), connections break and servers restart: each costs a block, never the update, and
 * nothing is tried for ever.
 */

import Timer from "timer";
import type { Digest, Part } from "../host.js";
import { judge, type Known } from "./answer.js";
import { type CancellableLookup, Connection, type ConnectionOptions } from "./connection.js";
import type { FirmwareUrl } from "./firmware-url.js";
import { isBase64Of } from "./http-fields.js";

/** What is asked for at a time, and what is in memory of a firmware. */
export const blockBytes = 16 * 1024;
/**
 * What is handed on at a time, in a turn of its own: the smallest unit that flash erases. Erasing and writing it takes tens
 * of milliseconds in which nothing else runs.
 */
const pieceBytes = 4 * 1024;
/** Connections that may be lost before the update is. Counted from 0 again after one of the two below. */
const mostDrops = 5;
const progressBytes = 1024 * 1024;
const progressMs = 30_000;
/** How often a damaged block is fetched again. */
const mostRefetches = 3;
/** Before the first reconnection; each further one waits twice as long, drawn at random from the upper half. */
const retryDelayMs = 1_000;
/** A connection that stands still this long is dropped; twice as long after each drop, for lines with a long delay. */
const stallMs = 2_000;
const longestStallMs = 30_000;
/** How long an update waits for the device's own connection without a byte of firmware in between. */
const longestWaitMs = 600_000;

export interface DownloadOptions {
	readonly connect: ConnectionOptions["connect"];
	readonly createLookup: () => CancellableLookup;
	readonly sha256: Part<object, Digest>;
	readonly url: FirmwareUrl;
	/** Sent with each request. */
	readonly headers: Iterable<readonly [string, string]>;
	/** Of `blockBytes`. It is this object's until the end. */
	readonly buffer: Uint8Array;
	/** Monotonic milliseconds. */
	readonly now: () => number;
	/** Whether the device's connection to the gateway is open. While it is not, a lost download waits for it. */
	readonly isOnline: () => boolean;
	/**
	 * The next piece of the firmware, proven: at most 4 KiB, at least the first 4 KiB of the image or all of it. It is good
	 * until the call returns. `total` is the firmware's length in bytes. What it throws ends the download.
	 */
	readonly onPiece: (piece: Uint8Array, total: number) => void;
	/** Undefined: everything was handed on. Else a sentence that says why not. */
	readonly onEnd: (reason: string | undefined) => void;
}

export class Download {
	readonly #options: DownloadOptions;
	#connection: Connection | undefined;
	#retryTimer: Timer | undefined;
	/** Runs while a block is handed on. */
	#pieceTimer: Timer | undefined;
	#known: Known | undefined;
	#isOver = false;

	/** Where the block begins that is fetched, or is to be fetched next. */
	#offset = 0;
	/** End of the previous block in the buffer, while some of it is still to be handed on; else 0. */
	#waiting = 0;
	/** What of that block was handed on. */
	#handedOn = 0;
	#isProven = false;
	/** What the server said of that block. */
	#waitingSha256: string | undefined;
	/** Bytes of the next block in the buffer. */
	#filled = 0;
	/** Where in the firmware the next byte to be read lies; behind `#offset` while a stream is read over again. */
	#position = 0;
	/** Where this answer ends. */
	#end = 0;
	#sha256: string | undefined;

	#drops = 0;
	/** Since the drops were last counted from 0: where that was, and how long blocks have been on their way. */
	#countedFrom = 0;
	#progressMs = 0;
	/** When the last block was whole, or this connection was begun. */
	#movedAtMs: number;
	/** When the last block was whole, or the download began. */
	#progressAtMs: number;
	/** Set while the device's own connection is awaited. */
	#waitTimer: Timer | undefined;
	#refetches = 0;
	/** What the server last said instead of bytes, and for which offset. */
	#complaint: { readonly reason: string; readonly offset: number } | undefined;

	constructor(options: DownloadOptions) {
		this.#options = options;
		this.#movedAtMs = options.now();
		this.#progressAtMs = this.#movedAtMs;
		this.#connect();
	}

	/** The device's connection to the gateway is open again. */
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
			headers.set("range", `bytes=${this.#offset}-${this.#offset + blockBytes - 1}`);
			const etag = this.#known?.etag;
			// A weak one must not be sent (RFC 9110, 13.1.5): the server would answer with the whole.
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
			byteLength: blockBytes,
			known: this.#known,
		});
		switch (verdict.kind) {
			case "bytes":
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
		for (let left = byteCount; left > 0 && this.#known && this.#connection; ) {
			// A stream without ranges repeats after a reconnection what was handed on before.
			const isRepeated = this.#position < this.#offset;
			const start = isRepeated ? 0 : this.#filled;
			const room = isRepeated ? Math.min(blockBytes, this.#offset - this.#position) : blockBytes - start;
			const count = Math.min(left, this.#end - this.#position, room);
			if (count === 0) return this.#complain("The server sends more than it announced.");
			// The previous block makes room as it is handed on.
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
			// A part waits for onAnswered: only then is it known to be whole.
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
		// The next block is on its way while this one is proven and flash takes it. The SDK sends a request from a timer:
		// hence one here as well, set after that.
		if (this.#offset < known.total) this.#ask();
		this.#pieceTimer ??= Timer.set(() => this.#onPieceTimer());
	}

	/** The block is whole, and waits to be proven and handed on. @returns whether it is still wanted */
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
		if (this.#handOn() && this.#waiting > 0) this.#pieceTimer = Timer.set(() => this.#onPieceTimer());
	}

	/** Hands on the next piece of the block that waits. @returns whether what is being fetched is still wanted */
	#handOn(): boolean {
		if (!this.#prove()) return false;
		if (this.#waiting === 0) return true;
		const { buffer, onPiece } = this.#options;
		const piece = buffer.subarray(this.#handedOn, Math.min(this.#waiting, this.#handedOn + pieceBytes));
		this.#handedOn += piece.byteLength;
		const isWhole = this.#handedOn === this.#waiting;
		if (isWhole) this.#waiting = 0;
		const total = this.#known?.total ?? 0;
		try {
			onPiece(piece, total);
		} catch (error) {
			this.#finish(error instanceof Error ? error.message : String(error));
			return false;
		}
		if (isWhole) this.#onProgress();
		if (!isWhole || this.#offset < total) return true;
		this.#finish(undefined);
		return false;
	}

	/** Holds the block that waits against its digest, once. @returns whether what is being fetched is still wanted */
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

	/** A block is handed on: a slow line that loses its connection now and then must come to an end all the same. */
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
		// Where bytes were lost or doubled, the next answer on this connection begins at the wrong place.
		this.#reconnect(0);
	}

	/** The server answered, and that was of no use. */
	#complain(reason: string): void {
		const former = this.#complaint;
		if (former && former.reason === reason && former.offset === this.#offset) return this.#finish(reason);
		this.#complaint = { reason, offset: this.#offset };
		this.#drop(reason);
	}

	#onLost(reason: string): void {
		if (!this.#prove()) return;
		// Everything was fetched, and only flash has still to take it.
		if (this.#offset > 0 && this.#offset === this.#known?.total) return;
		if (this.#connection?.hasHeard || this.#offset > 0)
			return this.#drop(`The download failed at ${this.#where()}: ${reason}.`);
		const { host, port, isSecure } = this.#options.url;
		const orCertificate = isSecure
			? ", or its certificate is not accepted (expired, for another name, or by an authority not known here)"
			: "";
		this.#drop(
			`${host}:${port} cannot be reached${orCertificate}: ${reason}, in each of ${1 + mostDrops} attempts.`,
		);
	}

	/** @param reason what is said if this was the last time */
	#drop(reason: string): void {
		if (!this.#options.isOnline()) return this.#awaitConnection(reason);
		this.#drops += 1;
		if (this.#drops > mostDrops) return this.#finish(reason);
		this.#reconnect(retryDelayMs * 2 ** (this.#drops - 1) * (0.5 + Math.random() / 2));
	}

	#reconnect(delayMs: number): void {
		this.#connection?.close();
		this.#connection = undefined;
		this.#retryTimer = Timer.set(() => {
			this.#retryTimer = undefined;
			this.#connect();
		}, Math.round(delayMs));
	}

	/** Without its own connection the device cannot tell a lost network from a lost server. */
	#awaitConnection(reason: string): void {
		this.#connection?.close();
		this.#connection = undefined;
		const leftMs = this.#progressAtMs + longestWaitMs - this.#options.now();
		if (leftMs <= 0) return this.#finish(reason);
		this.#waitTimer = Timer.set(() => {
			this.#waitTimer = undefined;
			this.#finish(reason);
		}, leftMs);
	}

	#where(): string {
		return `byte ${this.#offset}${this.#known ? ` of ${this.#known.total}` : ""}`;
	}

	#finish(reason: string | undefined): void {
		if (this.#isOver) return;
		this.#isOver = true;
		this.#connection?.close();
		this.#connection = undefined;
		Timer.clear(this.#retryTimer);
		Timer.clear(this.#waitTimer);
		Timer.clear(this.#pieceTimer);
		this.#options.onEnd(reason);
	}
}

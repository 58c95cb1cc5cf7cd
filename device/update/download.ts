/**
 * Fetches a firmware block by block, and hands on only blocks that are proven, in order, each once. The SDK's TCP has been
 * seen to lose segments without a word, connections break and servers restart: each costs a block, never the update, and
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
/** Connections that may be lost before the update is. */
const mostDrops = 5;
/** How often a damaged block is fetched again. */
const mostRefetches = 3;
/** Before the first reconnection; each further one waits twice as long, drawn at random from the upper half. */
const retryDelayMs = 1_000;

export interface DownloadOptions {
	readonly connect: ConnectionOptions["connect"];
	readonly createLookup: () => CancellableLookup;
	readonly sha256: Part<object, Digest>;
	readonly url: FirmwareUrl;
	/** Sent with each request. */
	readonly headers: Iterable<readonly [string, string]>;
	/** Of `blockBytes`. It is this object's until the end. */
	readonly buffer: Uint8Array;
	/** A proven block, good until it returns, and how long the firmware is. What it throws ends the download. */
	readonly onBlock: (block: Uint8Array, total: number) => void;
	/** Undefined: everything was handed on. Else a sentence that says why not. */
	readonly onEnd: (reason: string | undefined) => void;
}

export class Download {
	readonly #options: DownloadOptions;
	#connection: Connection | undefined;
	#retryTimer: Timer | undefined;
	#settleTimer: Timer | undefined;
	#known: Known | undefined;
	#isOver = false;

	/** Where the block begins that is fetched, or is to be fetched next. */
	#offset = 0;
	/** Bytes of the block before that are in the buffer, still to be proven and handed on. */
	#waiting = 0;
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
	#refetches = 0;
	/** What the server last said instead of bytes, and for which offset. */
	#complaint: { readonly reason: string; readonly offset: number } | undefined;

	constructor(options: DownloadOptions) {
		this.#options = options;
		this.#connect();
	}

	#connect(): void {
		const { connect, createLookup, url } = this.#options;
		this.#connection = new Connection({
			connect,
			lookup: createLookup(),
			url,
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
		if (!this.#settle()) return;
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
			this.#connection.read(buffer.subarray(start, start + count));
			left -= count;
			this.#position += count;
			if (isRepeated) continue;
			this.#filled += count;
			const { total, isInParts } = this.#known;
			const isBlock = this.#filled === blockBytes || this.#position === total;
			// A part waits for onAnswered: only then is it known to be whole.
			if (!isBlock || isInParts) continue;
			this.#blockEnds(undefined);
			if (!this.#settle()) return;
		}
	}

	#onAnswered(): void {
		const known = this.#known;
		if (!known || this.#position < this.#end) return this.#onLost("the server sent less than it announced");
		if (!known.isInParts) return;
		this.#blockEnds(this.#sha256);
		// The next block is on its way while this one is proven and flash takes it. The SDK sends a request from a timer:
		// hence one here, too.
		if (this.#offset < known.total) this.#ask();
		this.#settleTimer = Timer.set(() => this.#settle());
	}

	#blockEnds(sha256: string | undefined): void {
		this.#waiting = this.#filled;
		this.#waitingSha256 = sha256;
		this.#offset += this.#filled;
		this.#filled = 0;
	}

	/** Proves what waits and hands it on. @returns whether what is being fetched is still wanted */
	#settle(): boolean {
		Timer.clear(this.#settleTimer);
		this.#settleTimer = undefined;
		if (this.#waiting === 0) return !this.#isOver;
		const block = this.#options.buffer.subarray(0, this.#waiting);
		this.#waiting = 0;
		if (!this.#isProven(block)) {
			this.#offset -= block.byteLength;
			this.#refetch();
			return false;
		}
		this.#refetches = 0;
		const total = this.#known?.total ?? 0;
		try {
			this.#options.onBlock(block, total);
		} catch (error) {
			this.#finish(error instanceof Error ? error.message : String(error));
			return false;
		}
		if (this.#offset < total) return true;
		this.#finish(undefined);
		return false;
	}

	#isProven(block: Uint8Array): boolean {
		if (this.#waitingSha256 === undefined) return true;
		const digest = new this.#options.sha256({});
		digest.write(block);
		return isBase64Of(this.#waitingSha256, new Uint8Array(digest.close()));
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
		if (!this.#settle()) return;
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

	#where(): string {
		return `byte ${this.#offset}${this.#known ? ` of ${this.#known.total}` : ""}`;
	}

	#finish(reason: string | undefined): void {
		if (this.#isOver) return;
		this.#isOver = true;
		this.#connection?.close();
		this.#connection = undefined;
		Timer.clear(this.#retryTimer);
		Timer.clear(this.#settleTimer);
		this.#options.onEnd(reason);
	}
}

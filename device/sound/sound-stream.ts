/**
 * Streams the samples of a WAV file over HTTP into a ring buffer, with back-pressure. A lost connection is resumed at the
 * current byte by a range request.
 */

import Timer from "timer";
import { messageOf } from "../message-of.js";
import { Connection, type HttpAccess } from "../network/http-connection.js";
import { evaluateResponse, type RemoteFile } from "../network/http-response.js";
import type { Url } from "../network/url.js";
import { sampleRate } from "../peripherals/track.js";
import type { Ring } from "./ring.js";
import { WavHeader } from "./wav-header.js";

export const bytesPerSecond = sampleRate * 2;
/** Consecutive resumptions with less than a second of sound in between. */
const maxResumptions = 3;
/** Delay of the first resumption; doubled for each further one, which bridges an outage of 4 s. */
const resumeDelayMs = 1_000;
const stallMs = 5_000;
/** Bytes read per turn, since the ring buffer may be empty when a whole TCP window has arrived. */
const turnBytes = 8 * 1024;

export interface SoundStreamOptions {
	readonly http: HttpAccess;
	readonly url: Url;
	/** Cleared at the start and used until close(). */
	readonly ring: Ring;
	/** Called when samples were added to the ring. */
	readonly onProgress: () => void;
	/** Called at most once, last. @param reason a sentence */
	readonly onFailed: (reason: string) => void;
}

export class SoundStream {
	readonly #options: SoundStreamOptions;
	readonly #header = new WavHeader();
	readonly #scratch = new Uint8Array(64);
	#connection: Connection | undefined;
	#retryTimer: Timer | undefined;
	#pullTimer: Timer | undefined;
	#isClosed = false;

	/** File offset: bytes read, over all connections. */
	#position = 0;
	/** Known from the first response. */
	#file: RemoteFile | undefined;
	/** Bytes to skip that a server without ranges sends again. */
	#skip = 0;
	/** Bytes received but not read. */
	#unread = 0;
	/** Size of all samples, once the header is complete. */
	#sampleBytes = 0;
	/** Bytes of samples added to the ring. */
	#loadedBytes = 0;
	#resumptions = 0;
	#resumedAtByte = 0;

	constructor(options: SoundStreamOptions) {
		this.#options = options;
		options.ring.clear();
		this.#connect();
	}

	/** Whether all samples have been added. */
	get isWhole(): boolean {
		return this.#header.isWhole && this.#loadedBytes === this.#sampleBytes;
	}

	/** Continues reading. Must be called when the ring has room again. */
	pull(): void {
		if (this.#isClosed || this.isWhole || this.#pullTimer) return;
		if (!this.#connection && !this.#retryTimer) return this.#connect();
		try {
			this.#pump();
		} catch (error) {
			this.#fail(messageOf(error));
		}
	}

	close(): void {
		this.#isClosed = true;
		this.#disconnect();
	}

	/** Releases the connection and the ring until resume(). @param heardBytes bytes of samples that are not needed again */
	suspend(heardBytes: number): void {
		this.#disconnect();
		this.#position -= this.#loadedBytes - heardBytes;
		this.#loadedBytes = heardBytes;
	}

	resume(): void {
		this.#options.ring.clear(this.#loadedBytes);
		this.#resumptions = 0;
		this.#connect();
	}

	#connect(): void {
		const { http, url, ring } = this.#options;
		this.#connection = new Connection({
			http,
			url,
			stallMs,
			isReading: () => ring.free > 0 && this.#unread === 0,
			onHeaders: (status, headers) => this.#onHeaders(status, headers),
			onReadable: (byteCount) => {
				this.#unread = byteCount;
				this.pull();
			},
			onComplete: () => this.#onLost("the server sent less than it announced"),
			onLost: (reason) => this.#onLost(reason),
		});
		this.#connection.get(this.#position > 0 ? `bytes=${this.#position}-` : undefined, this.#file?.etag);
	}

	#disconnect(): void {
		Timer.clear(this.#retryTimer);
		this.#retryTimer = undefined;
		Timer.clear(this.#pullTimer);
		this.#pullTimer = undefined;
		this.#unread = 0;
		this.#connection?.close();
		this.#connection = undefined;
	}

	#onHeaders(status: number, headers: ReadonlyMap<string, string>): void {
		const verdict = evaluateResponse(status, headers, {
			what: "sound",
			offset: this.#position,
			byteLength: Number.POSITIVE_INFINITY,
			file: this.#file,
		});
		if (verdict.kind !== "bytes")
			return verdict.kind === "retry" ? this.#retry(verdict.reason) : this.#fail(verdict.reason);
		this.#file = verdict.file;
		this.#skip = verdict.file.isInParts ? 0 : this.#position;
	}

	/** @throws Error whose message is the reason of a failure */
	#pump(): void {
		const loaded = this.#loadedBytes;
		let left = turnBytes;
		while (this.#unread > 0 && this.#connection && !this.isWhole) {
			if (left === 0) {
				this.#pullTimer = Timer.set(() => {
					this.#pullTimer = undefined;
					this.pull();
				});
				break;
			}
			const isSkipping = this.#skip > 0;
			const maxBytes = Math.min(this.#unread, left);
			const bytes = isSkipping
				? this.#options.ring.reserve(Math.min(maxBytes, this.#skip))
				: this.#target(maxBytes);
			if (bytes.byteLength === 0) break;
			if (!this.#readInto(bytes)) break;
			this.#unread -= bytes.byteLength;
			left -= bytes.byteLength;
			if (isSkipping) this.#skip -= bytes.byteLength;
			else this.#onBytes(bytes);
		}
		// Data after the samples is not needed.
		if (this.isWhole) this.#disconnect();
		if (this.#loadedBytes > loaded) this.#options.onProgress();
	}

	/** @returns whether the connection is still open */
	#readInto(bytes: Uint8Array): boolean {
		try {
			this.#connection?.read(bytes);
			return true;
		} catch (error) {
			this.#onLost(String(error));
			return false;
		}
	}

	/** @returns a view for the next bytes; empty if there is no room */
	#target(maxBytes: number): Uint8Array {
		if (this.#header.isWhole)
			return this.#options.ring.reserve(Math.min(maxBytes, this.#sampleBytes - this.#loadedBytes));
		return this.#scratch.subarray(0, Math.min(maxBytes, this.#header.neededBytes, this.#scratch.byteLength));
	}

	#onBytes(bytes: Uint8Array): void {
		this.#position += bytes.byteLength;
		if (this.#header.isWhole) {
			this.#options.ring.add(bytes.byteLength);
			this.#loadedBytes += bytes.byteLength;
			return;
		}
		this.#header.write(bytes);
		if (!this.#header.isWhole) return;
		this.#sampleBytes = this.#header.sampleBytes((this.#file?.total ?? 0) - this.#position);
		if (this.#sampleBytes === 0) throw new Error("The WAV file has no samples.");
	}

	#onLost(reason: string): void {
		// A paused sound may outlive its connection; pull() opens another.
		if (this.#options.ring.free === 0) return this.#disconnect();
		if (this.#header.isWhole) return this.#retry(`The connection was lost: ${reason}.`);
		if (this.#position > 0 && this.#position === this.#file?.total)
			return this.#fail("The file ends before its first sample; it is not a WAV.");
		const { host, port } = this.#options.url;
		this.#retry(`The sound cannot be loaded from ${host}:${port}: ${reason}.`);
	}

	/** @param reason reported if this was the last attempt */
	#retry(reason: string): void {
		if (this.#loadedBytes - this.#resumedAtByte >= bytesPerSecond) this.#resumptions = 0;
		this.#resumedAtByte = this.#loadedBytes;
		this.#resumptions += 1;
		if (this.#resumptions > maxResumptions) return this.#fail(reason);
		this.#disconnect();
		// Jitter, since all devices of a fleet lose a server at the same moment.
		const delayMs = resumeDelayMs * 2 ** (this.#resumptions - 1) * (1 + Math.random() / 4);
		this.#retryTimer = Timer.set(() => {
			this.#retryTimer = undefined;
			this.#connect();
		}, Math.round(delayMs));
	}

	#fail(reason: string): void {
		if (this.#isClosed) return;
		this.close();
		this.#options.onFailed(reason);
	}
}

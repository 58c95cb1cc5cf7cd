/**
 * Makes firmware from the running one and a patch (see patch-format.ts), in order and in 8 KB of memory. Nothing of a
 * patch is trusted: it can neither read outside of its source nor make more than it announces.
 */

import type { Digest, Part, RunningImage } from "../host.js";
import { patchHead, patchOperations, shortestMatch, windowBytes } from "../protocol/patch-format.js";

/** Made in one step: the unit of an erase. */
const pieceBytes = 4 * 1024;
/** Of the source, hashed in a turn. */
const piecesPerTurn = 4;

export interface PatchOptions {
	readonly source: Pick<RunningImage, "byteLength" | "read">;
	readonly sha256: Part<object, Digest>;
	/** SHA-256 of source and result, in hex and lower case. */
	readonly from: string;
	readonly to: string;
	/** The next piece of the result: 4 KiB, the last one less. Valid during the call. @param total the result's length */
	readonly onPiece: (piece: Uint8Array, total: number) => void;
}

export class Patch {
	readonly #options: PatchOptions;
	readonly #piece = new Uint8Array(pieceBytes);
	readonly #window = new Uint8Array(windowBytes);
	#filled = 0;
	/** Up to here the piece holds what follows in the source: a read of flash takes longer than its bytes. */
	#ahead = 0;
	#made = 0;
	#sourceBytes = 0;
	#resultBytes = 0;
	/** First of the source, then of the result. */
	#digest: Digest;
	#isHeadRead = false;
	#isSourceChecked = false;
	/** Read of the source. */
	#position = 0;

	/** What the stream is read from, and how far. */
	#input: Uint8Array;
	#read = 0;
	#isUsedUp = true;
	/** Bytes of the stream before now. */
	#passed = 0;
	#flags = 1;
	/** First byte of a match whose second one is still to come. */
	#half = -1;
	#distance = 0;
	#repeats = 0;

	/** An operation's number, as far as it was read. */
	#number = 0;
	#shift = 0;
	#kind: number = patchOperations.insert;
	#left = 0;

	constructor(options: PatchOptions) {
		this.#options = options;
		this.#input = this.#piece;
		this.#digest = new options.sha256({});
	}

	/**
	 * Makes at most one piece.
	 * @param bytes of the patch, in order; the first ones with the whole head
	 * @returns whether they are used up; if not, call it again with the same bytes
	 * @throws Error that says why the patch cannot be applied
	 */
	write(bytes: Uint8Array): boolean {
		if (this.#isUsedUp) this.#read = 0;
		this.#isUsedUp = false;
		this.#input = bytes;
		if (!this.#isHeadRead) this.#readHead(bytes);
		else if (!this.#isSourceChecked)
			for (let piece = 0; piece < piecesPerTurn && !this.#isSourceChecked; piece++) this.#checkSource();
		else this.#isUsedUp = this.#make();
		return this.#isUsedUp;
	}

	/** Call it after the last bytes. @throws Error if the result is not whole */
	end(): void {
		if (!this.#isSourceChecked || this.#made < this.#resultBytes) throw new Error("The patch is cut off.");
		if (toHex(new Uint8Array(this.#digest.close())) !== this.#options.to)
			throw new Error("The patch is damaged: the firmware made by it has another SHA-256.");
	}

	#readHead(bytes: Uint8Array): void {
		const { byteLength, magic, ...offsets } = patchHead;
		if (bytes.byteLength < byteLength) throw new Error("The patch is cut off in its head.");
		const view = new DataView(bytes.buffer, bytes.byteOffset, byteLength);
		if (view.getUint32(0, true) !== magic) throw new Error("What the server sends is no patch.");
		this.#sourceBytes = view.getUint32(offsets.sourceBytesOffset, true);
		this.#resultBytes = view.getUint32(offsets.resultBytesOffset, true);
		const { from, to, source } = this.#options;
		if (
			toHex(bytes.subarray(offsets.sourceSha256Offset, offsets.resultSha256Offset)) !== from ||
			toHex(bytes.subarray(offsets.resultSha256Offset, byteLength)) !== to
		)
			throw new Error("The patch is for other firmware than was announced.");
		if (this.#sourceBytes > source.byteLength || this.#resultBytes === 0)
			throw new Error("The patch has impossible lengths in its head.");
		this.#isHeadRead = true;
		this.#read = byteLength;
	}

	/** One piece of it. */
	#checkSource(): void {
		const count = Math.min(pieceBytes, this.#sourceBytes - this.#position);
		if (count > 0) {
			const piece = this.#piece.subarray(0, count);
			this.#options.source.read(piece, this.#position);
			this.#digest.write(piece);
			this.#position += count;
			return;
		}
		if (toHex(new Uint8Array(this.#digest.close())) !== this.#options.from)
			throw new Error("The patch is for other firmware than the one that runs.");
		this.#digest = new this.#options.sha256({});
		this.#isSourceChecked = true;
		this.#position = 0;
	}

	/** @returns whether the input is used up */
	#make(): boolean {
		const wanted = Math.min(pieceBytes, this.#resultBytes - this.#made);
		if (wanted === 0) {
			if (this.#read < this.#input.byteLength) throw damaged("bytes follow its end");
			return true;
		}
		while (this.#filled < wanted) {
			if (this.#left === 0 && !this.#readOperation()) return true;
			if (!this.#fill(Math.min(this.#left, wanted - this.#filled), wanted)) return true;
		}
		const piece = this.#piece.subarray(0, wanted);
		this.#digest.write(piece);
		this.#filled = 0;
		this.#ahead = 0;
		this.#made += wanted;
		this.#options.onPiece(piece, this.#resultBytes);
		return false;
	}

	/** @returns whether all was there */
	#fill(count: number, wanted: number): boolean {
		const from = this.#filled;
		const isSource = this.#kind !== patchOperations.insert;
		const bytes = this.#piece.subarray(from, from + count);
		if (!isSource) this.#ahead = 0;
		else if (from + count > this.#ahead) this.#readAhead(wanted);
		let done = count;
		if (this.#kind !== patchOperations.copy)
			for (done = 0; done < count; done++) {
				const byte = this.#next();
				if (byte < 0) break;
				// A Uint8Array takes it modulo 256.
				bytes[done] = isSource ? (bytes[done] ?? 0) + byte : byte;
			}
		this.#filled += done;
		this.#left -= done;
		if (isSource) this.#position += done;
		return done === count;
	}

	#readAhead(wanted: number): void {
		this.#ahead = Math.min(wanted, this.#filled + this.#sourceBytes - this.#position);
		this.#options.source.read(this.#piece.subarray(this.#filled, this.#ahead), this.#position);
	}

	/** @returns false if the input is used up */
	#readOperation(): boolean {
		for (;;) {
			const byte = this.#next();
			if (byte < 0) return false;
			this.#number += (byte & 127) * 2 ** this.#shift;
			this.#shift += 7;
			if (byte > 127) {
				if (this.#shift === 28) throw damaged("a number is too long");
				continue;
			}
			const kind = this.#number & 3;
			const count = this.#number >> 2;
			this.#number = 0;
			this.#shift = 0;
			if (count === 0) throw damaged("an operation does nothing");
			if (kind !== patchOperations.seek) {
				this.#begin(kind, count);
				return true;
			}
			// Else a patch could keep a turn busy without making anything.
			if (this.#kind === kind) throw damaged("it seeks twice");
			this.#kind = kind;
			this.#ahead = 0;
			this.#position += count & 1 ? -((count + 1) >> 1) : count >> 1;
		}
	}

	#begin(kind: number, count: number): void {
		if (count > this.#resultBytes - this.#made - this.#filled)
			throw damaged("it makes more than it announces");
		const isOutside = this.#position < 0 || this.#position + count > this.#sourceBytes;
		if (kind !== patchOperations.insert && isOutside) throw damaged("it reads outside of the firmware");
		this.#kind = kind;
		this.#left = count;
	}

	/** The next byte of the stream, or -1 if the input is used up. */
	#next(): number {
		if (this.#repeats > 0) {
			this.#repeats -= 1;
			return this.#pass(this.#window[(this.#passed - this.#distance) % windowBytes] ?? 0);
		}
		if (this.#read === this.#input.byteLength) return -1;
		// The highest bit marks where the flags end.
		if (this.#flags === 1) {
			this.#flags = 256 | this.#take();
			if (this.#read === this.#input.byteLength) return -1;
		}
		if ((this.#flags & 1) === 0) {
			this.#flags >>= 1;
			return this.#pass(this.#take());
		}
		if (this.#half < 0) {
			this.#half = this.#take();
			if (this.#read === this.#input.byteLength) return -1;
		}
		const item = this.#half | (this.#take() << 8);
		this.#half = -1;
		this.#flags >>= 1;
		this.#distance = (item & (windowBytes - 1)) + 1;
		if (this.#distance > this.#passed) throw damaged("it repeats what was not there");
		this.#repeats = Math.floor(item / windowBytes) + shortestMatch;
		return this.#next();
	}

	#take(): number {
		const byte = this.#input[this.#read] ?? 0;
		this.#read += 1;
		return byte;
	}

	#pass(byte: number): number {
		this.#window[this.#passed % windowBytes] = byte;
		this.#passed += 1;
		return byte;
	}
}

function damaged(what: string): Error {
	return new Error(`The patch is damaged: ${what}.`);
}

function toHex(bytes: Uint8Array): string {
	return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

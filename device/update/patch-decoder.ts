/**
 * Decodes the stream of a patch (patch-format.ts), which is untrusted, in 2.4 KB of memory. The loops use local variables, which
 * XS accesses several times faster than fields.
 */

import type { RunningImage } from "../host.js";
import { maxMatch, minMatch, patchOperations, windowBytes } from "../protocol/patch-format.js";

/** Size of the buffer of decompressed data. */
const textBytes = 256;

export interface PatchDecoderOptions {
	readonly source: Pick<RunningImage, "read">;
	/** Not above the size of the source. */
	readonly sourceBytes: number;
	readonly resultBytes: number;
}

export class PatchDecoder {
	readonly #options: PatchDecoderOptions;
	/** Sliding window, followed by decompressed data. */
	readonly #text = new Uint8Array(windowBytes + textBytes);
	/** Start of the valid part of the window. */
	#start = windowBytes;
	/** Remaining flags, with a 1 above them that marks the end. */
	#flags = 1;
	/** First byte of an incomplete match; -1: none. */
	#half = -1;
	/** Consumed bytes of the current input. */
	#read = 0;
	#state = {
		/** Decompressed data from `taken` to `end` is not decoded yet. */
		taken: windowBytes,
		end: windowBytes,
		/** Number of an operation, as far as it was read. */
		number: 0,
		shift: 0,
		/** Current operation, and the bytes it has left. */
		kind: Number(patchOperations.insert),
		left: 0,
		/** Bytes of the result not covered by an operation yet. */
		rest: 0,
		/** Position in the source. */
		position: 0,
		/** Decoded bytes of the piece, and the end of source bytes prefetched into it. */
		filled: 0,
		ahead: 0,
	};

	constructor(options: PatchDecoderOptions) {
		this.#options = options;
		this.#state.rest = options.resultBytes;
	}

	/**
	 * Decodes the next bytes of the result.
	 * @param piece not longer than the rest of the result; pass the same one until it is full
	 * @param input part of the stream, whose bytes from `offset` on are unread
	 * @returns the next offset; -1: the input is exhausted and the piece is not full
	 * @throws Error if the patch is damaged or the source cannot be read
	 */
	decode(piece: Uint8Array, input: Uint8Array, offset: number): number {
		const { source, sourceBytes } = this.#options;
		const { copy, insert, seek } = patchOperations;
		const text = this.#text;
		const pieceEnd = piece.byteLength;
		this.#read = offset;
		let { taken, end, number, shift, kind, left, rest, position, filled, ahead } = this.#state;
		while (filled < pieceEnd) {
			if (taken === end && (left === 0 || kind !== copy)) {
				end = this.#decompress(end, input);
				taken = windowBytes;
				if (taken === end) break;
			}
			if (left === 0) {
				const byte = text[taken++] ?? 0;
				number |= (byte & 127) << shift;
				shift += 7;
				if (byte > 127) {
					if (shift === 28) throw damaged("a number has more than 4 bytes");
					continue;
				}
				const count = number >> 2;
				const previous = kind;
				kind = number & 3;
				number = 0;
				shift = 0;
				if (count === 0) throw damaged("an operation has length 0");
				if (kind === seek) {
					// Consecutive seeks could keep a turn busy without producing output.
					if (previous === seek) throw damaged("two seeks in a row");
					position += count & 1 ? -((count + 1) >> 1) : count >> 1;
					if (position < 0 || position > sourceBytes) throw damaged(outside);
					ahead = 0;
					continue;
				}
				if (count > rest) throw damaged("the result exceeds the announced length");
				if (kind !== insert && position + count > sourceBytes) throw damaged(outside);
				rest -= count;
				left = count;
				continue;
			}
			let count = left < pieceEnd - filled ? left : pieceEnd - filled;
			if (kind !== copy && count > end - taken) count = end - taken;
			const stop = filled + count;
			left -= count;
			if (kind === insert) {
				piece.set(text.subarray(taken, taken + count), filled);
				taken += count;
				filled = stop;
				ahead = 0;
				continue;
			}
			if (stop > ahead) {
				// Prefetches up to the end of the piece, since the overhead of a flash read outweighs the bytes.
				ahead = Math.min(pieceEnd, filled + sourceBytes - position);
				source.read(piece.subarray(filled, ahead), position);
			}
			position += count;
			if (kind === copy) filled = stop;
			// A Uint8Array stores values modulo 256.
			else while (filled < stop) piece[filled] = (piece[filled++] ?? 0) + (text[taken++] ?? 0);
		}
		const isFull = filled === pieceEnd;
		if (isFull) {
			filled = 0;
			ahead = 0;
		}
		if (rest + left === 0 && taken === end) {
			end = this.#decompress(end, input);
			taken = windowBytes;
		}
		if (rest + left === 0 && taken < end) throw damaged("trailing data");
		this.#state = { taken, end, number, shift, kind, left, rest, position, filled, ahead };
		return isFull ? this.#read : -1;
	}

	/** Decompresses more data once all is decoded. @param end of the decoded data @returns end of the new data */
	#decompress(end: number, input: Uint8Array): number {
		const text = this.#text;
		const inputEnd = input.byteLength;
		const limit = text.byteLength - maxMatch;
		text.copyWithin(0, end - windowBytes, end);
		this.#start = Math.max(0, this.#start - (end - windowBytes));
		let [target, read, flags, half] = [windowBytes, this.#read, this.#flags, this.#half];
		while (read < inputEnd && target <= limit) {
			const byte = input[read++] ?? 0;
			if (flags === 1) flags = 256 | byte;
			else if ((flags & 1) === 0) {
				text[target++] = byte;
				flags >>= 1;
			} else if (half < 0) half = byte;
			else {
				const item = half | (byte << 8);
				const count = (item >> 11) + minMatch;
				const from = target - (item & (windowBytes - 1)) - 1;
				if (from < this.#start) throw damaged("a match refers to data before the start");
				if (from + count <= target) text.copyWithin(target, from, from + count);
				else for (let at = 0; at < count; at++) text[target + at] = text[from + at] ?? 0;
				target += count;
				flags >>= 1;
				half = -1;
			}
		}
		[this.#read, this.#flags, this.#half] = [read, flags, half];
		return target;
	}
}

const outside = "an operation reads outside the firmware";

function damaged(what: string): Error {
	return new Error(`The patch is damaged: ${what}.`);
}

/** Creates patches; see device/protocol/patch-format.ts. */

import { createHash } from "node:crypto";
import {
	maxCount,
	maxMatch,
	minMatch,
	patchHead,
	patchOperations,
	windowBytes,
} from "../../device/protocol/patch-format.js";
import { MatchFinder } from "./match-finder.js";

/** Number of equal bytes between differences from which a copy operation is shorter. */
const shortestCopy = 3;
/** Number of bytes by which another part of the source must match better than the current one, as in bsdiff. */
const advantage = 8;

/** Creates a patch that turns `from` into `to`. Takes about a second per megabyte. */
export function makePatch(from: Uint8Array, to: Uint8Array): Buffer {
	const head = Buffer.alloc(patchHead.byteLength);
	head.writeUInt32LE(patchHead.magic);
	head.writeUInt32LE(from.byteLength, patchHead.sourceBytesOffset);
	head.writeUInt32LE(to.byteLength, patchHead.resultBytesOffset);
	createHash("sha256").update(from).digest().copy(head, patchHead.sourceSha256Offset);
	createHash("sha256").update(to).digest().copy(head, patchHead.resultSha256Offset);
	return Buffer.concat([head, compress(encode(from, to))]);
}

/** Encodes similar parts and insertions by the algorithm of bsdiff (C. Percival). */
function encode(from: Uint8Array, to: Uint8Array): Uint8Array {
	const out = new Operations(from, to);
	const finder = new MatchFinder(from, advantage + 1);
	finder.addUntil(from.length);
	let scan = 0;
	let position = 0;
	let length = 0;
	let lastScan = 0;
	let lastPosition = 0;
	while (scan < to.length) {
		let score = 0;
		scan += length;
		const offset = lastPosition - lastScan;
		for (let scored = scan; scan < to.length; scan++) {
			({ position, length } = finder.find(to, scan, to.length));
			for (; scored < scan + length; scored++) if (from[scored + offset] === to[scored]) score++;
			if ((length === score && length > 0) || length > score + advantage) break;
			if (from[scan + offset] === to[scan]) score--;
		}
		if (length === score && scan < to.length) continue;
		let forward = extend(
			Math.min(scan - lastScan, from.length - lastPosition),
			(at) => from[lastPosition + at] === to[lastScan + at],
		);
		let back =
			scan === to.length
				? 0
				: extend(Math.min(scan - lastScan, position), (at) => from[position - 1 - at] === to[scan - 1 - at]);
		const overlap = lastScan + forward - (scan - back);
		if (overlap > 0) {
			const kept = splitOverlap(
				overlap,
				(at) => +(to[lastScan + forward - overlap + at] === from[lastPosition + forward - overlap + at]),
				(at) => +(to[scan - back + at] === from[position - back + at]),
			);
			forward += kept - overlap;
			back -= kept;
		}
		out.alike(lastPosition, lastScan, forward);
		out.insert(lastScan + forward, scan - back);
		lastScan = scan - back;
		lastPosition = position - back;
	}
	return out.bytes();
}

/** Longest extension of a match with more than half of the bytes equal. */
function extend(most: number, isEqual: (at: number) => boolean): number {
	let score = 0;
	let best = 0;
	let length = 0;
	for (let at = 0; at < most; at++) {
		if (isEqual(at)) score++;
		if (score * 2 - (at + 1) <= best * 2 - length) continue;
		best = score;
		length = at + 1;
	}
	return length;
}

/** Splits the overlap of two parts. @returns length that belongs to the first part */
function splitOverlap(
	overlap: number,
	first: (at: number) => number,
	second: (at: number) => number,
): number {
	let score = 0;
	let best = 0;
	let kept = 0;
	for (let at = 0; at < overlap; at++) {
		score += first(at) - second(at);
		if (score <= best) continue;
		best = score;
		kept = at + 1;
	}
	return kept;
}

class Operations {
	readonly #from: Uint8Array;
	readonly #to: Uint8Array;
	readonly #parts: Uint8Array[] = [];
	/** Current position in the source. */
	#position = 0;

	constructor(from: Uint8Array, to: Uint8Array) {
		this.#from = from;
		this.#to = to;
	}

	bytes(): Uint8Array {
		return Buffer.concat(this.#parts);
	}

	insert(start: number, end: number): void {
		if (end > start) this.#write(patchOperations.insert, end - start, this.#to.subarray(start, end));
	}

	/** Writes a similar part. @param position position in the source @param start position in the result */
	alike(position: number, start: number, count: number): void {
		if (count === 0) return;
		const step = position - this.#position;
		if (step !== 0) this.#write(patchOperations.seek, step > 0 ? step * 2 : -step * 2 - 1);
		this.#position = position + count;
		const difference = Uint8Array.from(this.#to.subarray(start, start + count));
		for (let at = 0; at < count; at++)
			difference[at] = (difference[at] ?? 0) - (this.#from[position + at] ?? 0);
		for (let at = 0; at < count; ) {
			let end = at;
			while (end < count && difference[end] === 0) end++;
			if (end > at) this.#write(patchOperations.copy, end - at);
			at = end;
			for (let zeros = 0; end < count && zeros < shortestCopy; end++)
				zeros = difference[end] === 0 ? zeros + 1 : 0;
			while (end > at && difference[end - 1] === 0) end--;
			if (end > at) this.#write(patchOperations.add, end - at, difference.subarray(at, end));
			at = end;
		}
	}

	#write(kind: number, count: number, bytes: Uint8Array = new Uint8Array()): void {
		if (count > maxCount) throw new Error("The firmware is too large for a patch.");
		const number: number[] = [];
		let rest = count * 4 + kind;
		for (; rest > 127; rest >>>= 7) number.push((rest & 127) | 128);
		this.#parts.push(Uint8Array.from([...number, rest]), bytes);
	}
}

function compress(bytes: Uint8Array): Uint8Array {
	const finder = new MatchFinder(bytes, minMatch);
	const find = (at: number) => {
		finder.addUntil(at);
		return finder.find(bytes, at, maxMatch, Math.max(0, at - windowBytes));
	};
	const out: number[] = [];
	let flagsAt = 0;
	let items = 0;
	for (let at = 0; at < bytes.length; ) {
		let { position, length } = find(at);
		// Lazy matching: a literal byte is worth a longer match at the next byte.
		if (length > 0 && length < maxMatch && find(at + 1).length > length) length = 0;
		if (items % 8 === 0) flagsAt = out.push(0) - 1;
		if (length > 0) {
			out[flagsAt] = (out[flagsAt] ?? 0) | (1 << (items % 8));
			const item = ((length - minMatch) * windowBytes) | (at - position - 1);
			out.push(item & 255, item >> 8);
		} else {
			length = 1;
			out.push(bytes[at] ?? 0);
		}
		items++;
		at += length;
	}
	return Uint8Array.from(out);
}

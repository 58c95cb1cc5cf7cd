/**
 * A NOR flash chip: a write only clears bits, an erase sets those of a whole sector, and power can go away at any of them.
 * A model that were an ordinary file would forgive the two mistakes that brick boards: writing without erasing, and
 * trusting that what was begun was finished.
 */

import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";

/** The unit of an erase. */
export const sectorBytes = 4096;
/** The most that is written at once: a page of a SPI flash. */
const pageBytes = 256;
const blank = Buffer.alloc(sectorBytes, 0xff);

/** Before the operation, with half of it done, or when it is done but nothing that follows. */
export const cutMoments = ["before", "middle", "after"] as const;
export type CutMoment = (typeof cutMoments)[number];

/** Power went away; the flash does nothing until it comes back. */
export class PowerCut extends Error {
	override name = "PowerCut";
}

export interface FlashOptions {
	readonly byteLength: number;
	/** Where the content is kept; absent: in memory, and only of sectors that are not blank. */
	readonly file?: string;
	/** Hears of each erase (of a sector) and each write (of a page at most). */
	readonly onOperation?: (operation: FlashOperation) => void;
}

export interface FlashOperation {
	readonly kind: "erase" | "write";
	readonly offset: number;
	readonly byteLength: number;
}

export class Flash {
	readonly byteLength: number;
	readonly #onOperation: FlashOptions["onOperation"];
	readonly #file: number | undefined;
	/** Sectors that are not blank. One that has not been written here may be shared: it is copied before. */
	readonly #sectors = new Map<number, Buffer>();
	#operations = 0;
	#cut: { readonly operation: number; readonly moment: CutMoment } | undefined;
	#isPowered = true;

	/** @throws NodeJS.ErrnoException where the file cannot be opened */
	constructor(options: FlashOptions) {
		this.byteLength = options.byteLength;
		this.#onOperation = options.onOperation;
		if (options.file === undefined) return;
		this.#file = openSync(options.file, constants.O_RDWR | constants.O_CREAT, 0o600);
		for (let sector = 0; sector < this.byteLength / sectorBytes; sector++) {
			const content = Buffer.alloc(sectorBytes, 0xff);
			const count = readSync(this.#file, content, 0, sectorBytes, sector * sectorBytes);
			if (!content.equals(blank)) this.#sectors.set(sector, content);
			// A chip that is new: a hole in the file would read as zeros.
			if (count < sectorBytes) writeSync(this.#file, content, 0, sectorBytes, sector * sectorBytes);
		}
	}

	/** Erases and writes so far. */
	get operations(): number {
		return this.#operations;
	}

	get isPowered(): boolean {
		return this.#isPowered;
	}

	/** Takes power away at an operation still to come, counted from 1 at the next one. */
	cutAt(operation: number, moment: CutMoment): void {
		this.#cut = { operation: this.#operations + operation, moment };
	}

	/** Power is back; a cut that has not happened is called off. */
	powerOn(): void {
		this.#isPowered = true;
		this.#cut = undefined;
	}

	read(offset: number, byteLength: number): Buffer {
		this.#requirePower();
		this.#requireInside(offset, byteLength);
		const bytes = Buffer.allocUnsafe(byteLength);
		for (const { sector, from, to, at } of pieces(offset, byteLength, sectorBytes))
			(this.#sectors.get(sector) ?? blank).copy(bytes, at, from, to);
		return bytes;
	}

	/** @param offset a multiple of `sectorBytes`, as is `byteLength` */
	erase(offset: number, byteLength: number): void {
		this.#requireInside(offset, byteLength);
		if (offset % sectorBytes || byteLength % sectorBytes)
			throw new RangeError("only whole sectors can be erased");
		for (let at = offset; at < offset + byteLength; at += sectorBytes)
			this.#operate({ kind: "erase", offset: at, byteLength: sectorBytes }, (isWhole) => {
				this.#put(at, isWhole ? blank : halfErased(this.read(at, sectorBytes), this.#operations));
			});
	}

	/** Clears bits: what is 0 stays 0, as in any NOR flash. */
	write(offset: number, bytes: Uint8Array): void {
		this.#requireInside(offset, bytes.byteLength);
		for (const { from, to, at, sector } of pieces(offset, bytes.byteLength, pageBytes)) {
			const start = sector * pageBytes + from;
			this.#operate({ kind: "write", offset: start, byteLength: to - from }, (isWhole) => {
				const former = this.read(start, to - from);
				this.#put(start, programmed(former, bytes.subarray(at, at + to - from), isWhole));
			});
		}
	}

	/** Puts content there from outside, as a cable does: no operation of the device's. Whole sectors are not copied. */
	load(offset: number, bytes: Buffer): void {
		for (const { sector, from, to, at } of pieces(offset, bytes.byteLength, sectorBytes)) {
			const piece = bytes.subarray(at, at + to - from);
			if (to - from === sectorBytes && this.#file === undefined) this.#sectors.set(sector, piece);
			else this.#put(sector * sectorBytes + from, piece);
		}
	}

	/** Blank, as from the factory. */
	wipe(): void {
		for (const sector of this.#sectors.keys()) this.#put(sector * sectorBytes, blank);
		this.#sectors.clear();
	}

	close(): void {
		this.#isPowered = false;
		if (this.#file !== undefined) closeSync(this.#file);
	}

	#operate(operation: FlashOperation, perform: (isWhole: boolean) => void): void {
		this.#requirePower();
		this.#operations += 1;
		this.#onOperation?.(operation);
		const moment = this.#cut?.operation === this.#operations ? this.#cut.moment : undefined;
		if (moment !== "before") perform(moment !== "middle");
		if (moment === undefined) return;
		this.#isPowered = false;
		throw new PowerCut(`power was cut ${moment} ${operation.kind} ${this.#operations}`);
	}

	/** The bytes lie within one sector. */
	#put(offset: number, bytes: Uint8Array): void {
		const sector = Math.floor(offset / sectorBytes);
		const content = Buffer.from(this.#sectors.get(sector) ?? blank);
		content.set(bytes, offset % sectorBytes);
		this.#sectors.set(sector, content);
		if (this.#file !== undefined) writeSync(this.#file, bytes, 0, bytes.byteLength, offset);
	}

	#requirePower(): void {
		if (!this.#isPowered) throw new PowerCut("the flash has no power");
	}

	#requireInside(offset: number, byteLength: number): void {
		if (offset < 0 || byteLength < 0 || offset + byteLength > this.byteLength)
			throw new RangeError(`${byteLength} bytes at ${offset} do not lie in a flash of ${this.byteLength}`);
	}
}

/** A span cut at multiples of `unit`. `at`: from the span's start. */
function* pieces(offset: number, byteLength: number, unit: number) {
	for (let at = 0; at < byteLength; ) {
		const sector = Math.floor((offset + at) / unit);
		const from = (offset + at) % unit;
		const to = Math.min(unit, from + byteLength - at);
		yield { sector, from, to, at };
		at += to - from;
	}
}

function programmed(former: Buffer, bytes: Uint8Array, isWhole: boolean): Uint8Array {
	const half = bytes.byteLength >> 1;
	return former.map((byte, index) => {
		const wanted = bytes[index] ?? 0xff;
		if (isWhole || index < half) return byte & wanted;
		// Where the cut fell, half of the bits are through.
		return index === half ? byte & (wanted | 0x0f) : byte;
	});
}

/** The first half is blank; in the rest some bits have flipped, the same ones for the same operation. */
function halfErased(former: Buffer, seed: number): Uint8Array {
	const half = former.length >> 1;
	let state = seed;
	return former.map((byte, index) => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return index < half ? 0xff : byte | (state >>> 24);
	});
}

/**
 * Simulated NOR flash: a write only clears bits, an erase sets all bits of a sector, and power can be cut at any operation. Reveals the two
 * mistakes that brick boards: writing without erasing, and relying on incomplete operations.
 */

import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";

/** Unit of an erase. */
export const sectorBytes = 4096;
/** Unit of a write: a page of a SPI flash. */
const pageBytes = 256;
const blank = Buffer.alloc(sectorBytes, 0xff);

/** Moments of an operation at which power can be cut. */
export const cutMoments = ["before", "middle", "after"] as const;
export type CutMoment = (typeof cutMoments)[number];

/** Thrown by operations without power, until powerOn(). */
export class PowerCut extends Error {
	override name = "PowerCut";
}

export interface FlashOptions {
	readonly byteLength: number;
	/** File for the content. Default: in memory only. */
	readonly file?: string;
	/** Called for each erase (of a sector), write (of at most a page) and replacement. */
	readonly onOperation?: (operation: FlashOperation) => void;
}

export interface FlashOperation {
	readonly kind: "erase" | "write" | "replace";
	readonly offset: number;
	readonly byteLength: number;
}

interface Sector {
	readonly content: Buffer;
	/** Whether the caller of load() owns the content, so that it must be copied before a change. */
	readonly isShared: boolean;
}

export class Flash {
	readonly byteLength: number;
	readonly #onOperation: FlashOptions["onOperation"];
	readonly #file: number | undefined;
	/** Sectors that are not blank. */
	readonly #sectors = new Map<number, Sector>();
	#operations = 0;
	#cut: { readonly operation: number; readonly moment: CutMoment } | undefined;
	#isPowered = true;

	/** @throws NodeJS.ErrnoException if the file cannot be opened */
	constructor(options: FlashOptions) {
		this.byteLength = options.byteLength;
		this.#onOperation = options.onOperation;
		if (options.file === undefined) return;
		this.#file = openSync(options.file, constants.O_RDWR | constants.O_CREAT, 0o600);
		for (let sector = 0; sector < this.byteLength / sectorBytes; sector++) {
			const content = Buffer.alloc(sectorBytes, 0xff);
			const count = readSync(this.#file, content, 0, sectorBytes, sector * sectorBytes);
			if (!content.equals(blank)) this.#sectors.set(sector, { content, isShared: false });
			// Blank flash; a hole in the file would read as zeros.
			if (count < sectorBytes) writeSync(this.#file, content, 0, sectorBytes, sector * sectorBytes);
		}
	}

	/** Number of erases and writes so far. */
	get operations(): number {
		return this.#operations;
	}

	get isPowered(): boolean {
		return this.#isPowered;
	}

	/** Cuts power at a later operation; 1 is the next one. */
	cutAt(operation: number, moment: CutMoment): void {
		this.#cut = { operation: this.#operations + operation, moment };
	}

	/** Restores power and cancels a planned cut. */
	powerOn(): void {
		this.#isPowered = true;
		this.#cut = undefined;
	}

	read(offset: number, byteLength: number): Buffer {
		this.#requirePower();
		this.#requireInside(offset, byteLength);
		return this.#contentOf(offset, byteLength);
	}

	#contentOf(offset: number, byteLength: number): Buffer {
		const bytes = Buffer.allocUnsafe(byteLength);
		for (const { sector, from, to, at } of pieces(offset, byteLength, sectorBytes))
			(this.#sectors.get(sector)?.content ?? blank).copy(bytes, at, from, to);
		return bytes;
	}

	/** @param offset a multiple of `sectorBytes`, as is `byteLength` */
	erase(offset: number, byteLength: number): void {
		this.#requireInside(offset, byteLength);
		if (offset % sectorBytes || byteLength % sectorBytes)
			throw new RangeError("offset and length must be multiples of the sector size");
		this.#change(offset, byteLength, () => {
			for (let at = offset; at < offset + byteLength; at += sectorBytes)
				this.#operate({ kind: "erase", offset: at, byteLength: sectorBytes }, (isWhole) => {
					if (isWhole) this.#sectors.delete(at / sectorBytes);
					else halfErase(this.#own(at / sectorBytes), this.#operations);
				});
		});
	}

	/** Clears the bits that are 0 in `bytes`. */
	write(offset: number, bytes: Uint8Array): void {
		this.#requireInside(offset, bytes.byteLength);
		this.#change(offset, bytes.byteLength, () => {
			for (const { from, to, at, sector: page } of pieces(offset, bytes.byteLength, pageBytes)) {
				const start = page * pageBytes + from;
				this.#operate({ kind: "write", offset: start, byteLength: to - from }, (isWhole) => {
					const content = this.#own(Math.floor(start / sectorBytes));
					program(content, start % sectorBytes, bytes.subarray(at, at + to - from), isWhole);
				});
			}
		});
	}

	/** Replaces whole sectors atomically, for a library that recovers from power cuts. */
	replace(offset: number, bytes: Buffer): void {
		this.#requirePower();
		this.#operate({ kind: "replace", offset, byteLength: bytes.byteLength }, (isWhole) => {
			if (isWhole) this.load(offset, bytes);
		});
	}

	/** Sets content without an operation of the device. Does not copy whole sectors. */
	load(offset: number, bytes: Buffer): void {
		for (const { sector, from, to, at } of pieces(offset, bytes.byteLength, sectorBytes)) {
			const content = bytes.subarray(at, at + to - from);
			if (content.equals(blank)) this.#sectors.delete(sector);
			else if (content.length === sectorBytes) this.#sectors.set(sector, { content, isShared: true });
			else this.#own(sector).set(content, from);
		}
		this.#keep(offset, bytes.byteLength);
	}

	/** Erases the flash without an operation of the device. */
	wipe(): void {
		const sectors = [...this.#sectors.keys()];
		this.#sectors.clear();
		for (const sector of sectors) this.#keep(sector * sectorBytes, sectorBytes);
	}

	close(): void {
		this.#isPowered = false;
		if (this.#file !== undefined) closeSync(this.#file);
	}

	#operate(operation: FlashOperation, perform: (isWhole: boolean) => void): void {
		this.#operations += 1;
		this.#onOperation?.(operation);
		const moment = this.#cut?.operation === this.#operations ? this.#cut.moment : undefined;
		if (moment !== "before") perform(moment !== "middle");
		if (moment === undefined) return;
		this.#isPowered = false;
		throw new PowerCut(`power cut ${moment} ${operation.kind} ${this.#operations}`);
	}

	/** Performs a change and stores its result, even after a power cut. */
	#change(offset: number, byteLength: number, operate: () => void): void {
		this.#requirePower();
		try {
			operate();
		} finally {
			this.#keep(offset, byteLength);
		}
	}

	#keep(offset: number, byteLength: number): void {
		if (this.#file !== undefined)
			writeSync(this.#file, this.#contentOf(offset, byteLength), 0, byteLength, offset);
	}

	#own(index: number): Buffer {
		const sector = this.#sectors.get(index);
		if (sector && !sector.isShared) return sector.content;
		const content = Buffer.from(sector?.content ?? blank);
		this.#sectors.set(index, { content, isShared: false });
		return content;
	}

	#requirePower(): void {
		if (!this.#isPowered) throw new PowerCut("the flash has no power");
	}

	#requireInside(offset: number, byteLength: number): void {
		if (offset < 0 || byteLength < 0 || offset + byteLength > this.byteLength)
			throw new RangeError(
				`${byteLength} bytes at offset ${offset} exceed the flash size of ${this.byteLength}`,
			);
	}
}

/** Splits a span at unit boundaries; `at` is the offset from its start. */
function* pieces(offset: number, byteLength: number, unit: number) {
	for (let at = 0; at < byteLength; ) {
		const sector = Math.floor((offset + at) / unit);
		const from = (offset + at) % unit;
		const to = Math.min(unit, from + byteLength - at);
		yield { sector, from, to, at };
		at += to - from;
	}
}

function program(content: Buffer, offset: number, bytes: Uint8Array, isWhole: boolean): void {
	// Fast path, since most pages are blank.
	if (
		isWhole &&
		blank.subarray(0, bytes.byteLength).equals(content.subarray(offset, offset + bytes.byteLength))
	) {
		content.set(bytes, offset);
		return;
	}
	const end = isWhole ? bytes.byteLength : bytes.byteLength >> 1;
	for (let at = 0; at < end; at++) content[offset + at] = (content[offset + at] ?? 0) & (bytes[at] ?? 0);
	// Writes half of the bits of the last byte.
	if (!isWhole) content[offset + end] = (content[offset + end] ?? 0) & ((bytes[end] ?? 0) | 0x0f);
}

/** Erases the first half and some bits of the rest, determined by the seed. */
function halfErase(content: Buffer, seed: number): void {
	const half = content.length >> 1;
	content.fill(0xff, 0, half);
	let state = seed;
	for (let at = half; at < content.length; at++) {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		content[at] = (content[at] ?? 0) | (state >>> 24);
	}
}

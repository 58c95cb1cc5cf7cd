/**
 * Simulated flash, in which power can be cut at any operation. Reveals the mistake of relying on incomplete operations. How ESP-IDF erases
 * and writes a flash chip is tested in QEMU.
 */

import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";

/** Unit of an operation. */
export const sectorBytes = 4096;
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
	/** Called for each write of at most a sector, and for each replacement. */
	readonly onOperation?: (offset: number) => void;
}

export class Flash {
	readonly byteLength: number;
	readonly #onOperation: FlashOptions["onOperation"];
	readonly #file: number | undefined;
	/** Contents of the sectors that are not blank. They never change, since several devices may share them. */
	readonly #sectors = new Map<number, Buffer>();
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
			if (!content.equals(blank)) this.#sectors.set(sector, content);
			// Blank flash; a hole in the file would read as zeros.
			if (count < sectorBytes) writeSync(this.#file, content, 0, sectorBytes, sector * sectorBytes);
		}
	}

	/** Number of writes and replacements so far. */
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
		for (const { sector, from, to, at } of pieces(offset, byteLength))
			(this.#sectors.get(sector) ?? blank).copy(bytes, at, from, to);
		return bytes;
	}

	/** Writes each sector in one operation. A power cut in the middle of one leaves half of its bytes. */
	write(offset: number, bytes: Uint8Array): void {
		this.#requirePower();
		for (const { sector, from, to, at } of pieces(offset, bytes.byteLength)) {
			const start = sector * sectorBytes + from;
			const piece = Buffer.from(bytes.subarray(at, at + to - from));
			this.#operate(start, (isWhole) =>
				this.load(start, isWhole ? piece : piece.subarray(0, piece.length >> 1)),
			);
		}
	}

	/** Replaces content atomically, for a library that recovers from power cuts. */
	replace(offset: number, bytes: Buffer): void {
		this.#requirePower();
		this.#operate(offset, (isWhole) => {
			if (isWhole) this.load(offset, bytes);
		});
	}

	/** Sets content without an operation of the device. Does not copy whole sectors. */
	load(offset: number, bytes: Buffer): void {
		this.#requireInside(offset, bytes.byteLength);
		for (const { sector, from, to, at } of pieces(offset, bytes.byteLength)) {
			let content = bytes.subarray(at, at + to - from);
			if (content.length < sectorBytes) {
				content = this.#contentOf(sector * sectorBytes, sectorBytes);
				bytes.copy(content, from, at, at + to - from);
			}
			if (content.equals(blank)) this.#sectors.delete(sector);
			else this.#sectors.set(sector, content);
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

	#operate(offset: number, perform: (isWhole: boolean) => void): void {
		this.#operations += 1;
		this.#onOperation?.(offset);
		const moment = this.#cut?.operation === this.#operations ? this.#cut.moment : undefined;
		if (moment !== "before") perform(moment !== "middle");
		if (moment === undefined) return;
		this.#isPowered = false;
		throw new PowerCut(`power cut ${moment} operation ${this.#operations}`);
	}

	#keep(offset: number, byteLength: number): void {
		if (this.#file !== undefined)
			writeSync(this.#file, this.#contentOf(offset, byteLength), 0, byteLength, offset);
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

/** Splits a span at sectors; `at` is the offset from its start. */
function* pieces(offset: number, byteLength: number) {
	for (let at = 0; at < byteLength; ) {
		const sector = Math.floor((offset + at) / sectorBytes);
		const from = (offset + at) % sectorBytes;
		const to = Math.min(sectorBytes, from + byteLength - at);
		yield { sector, from, to, at };
		at += to - from;
	}
}

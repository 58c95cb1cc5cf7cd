/**
 * One page of NVS: a sector that takes items until it is full, and erases items by clearing their state bits. It can be recovered
 * after a power cut at any step. (ESP-IDF v6.0, nvs_page.cpp.)
 */

import {
	decodeItemHeader,
	decodePageHeader,
	encodePageHeader,
	entriesPerPage,
	entryBytes,
	entryOffset,
	entryState,
	type ItemHeader,
	isWhole,
	pageBytes,
	pageState,
	readEntryState,
	setEntryState,
	stateTableBytes,
	stateTableOffset,
} from "../../../esp32/nvs-format.js";
import type { Flash } from "./flash.js";

/** The table is written in words of 32 bits. */
const entriesPerWord = 16;

export interface NvsItem {
	/** Of its first entry in the page. */
	readonly index: number;
	readonly header: ItemHeader;
	/** All of its entries. */
	readonly bytes: Uint8Array;
}

export interface NvsPageOptions {
	readonly flash: Flash;
	/** Of the page in the flash. */
	readonly offset: number;
}

export class NvsPage {
	readonly #flash: Flash;
	readonly #offset: number;
	readonly #table = Buffer.alloc(stateTableBytes, 0xff);
	/** Undefined: the content is invalid; the page is erased before use. */
	#state: number | undefined;
	#sequence = 0;
	#nextFree = 0;

	/**
	 * Reads the page, and repairs it after a power cut.
	 *
	 * @throws Error where a later ESP-IDF wrote the page
	 */
	constructor({ flash, offset }: NvsPageOptions) {
		this.#flash = flash;
		this.#offset = offset;
		const content = flash.read(offset, pageBytes);
		const header = decodePageHeader(content);
		if (!header) {
			if (isBlank(content)) this.#state = pageState.uninitialized;
			return;
		}
		this.#state = header.state;
		this.#sequence = header.sequence;
		this.#table.set(content.subarray(stateTableOffset, stateTableOffset + stateTableBytes));
		this.#nextFree = entriesPerPage;
		if (header.state === pageState.active) this.#skipHalfWritten(content);
		this.#eraseDamaged();
	}

	/** Whether it has, or can have, items. */
	get isInUse(): boolean {
		return this.#state !== undefined && this.#state !== pageState.uninitialized;
	}

	get isActive(): boolean {
		return this.#state === pageState.active;
	}

	get isFreeing(): boolean {
		return this.#state === pageState.freeing;
	}

	/** Later pages have higher numbers. */
	get sequence(): number {
		return this.#sequence;
	}

	get usedEntries(): number {
		let count = 0;
		for (let index = 0; index < entriesPerPage; index++)
			if (readEntryState(this.#table, index) === entryState.written) count += 1;
		return count;
	}

	/** Prepares the page for items; the first item writes the header. */
	activate(sequence: number): void {
		if (this.#state === undefined) this.wipe();
		this.#sequence = sequence;
	}

	wipe(): void {
		this.#flash.erase(this.#offset, pageBytes);
		this.#state = pageState.uninitialized;
		this.#table.fill(0xff);
		this.#nextFree = 0;
	}

	markFull(): void {
		if (this.#state === pageState.active) this.#mark(pageState.full);
	}

	markFreeing(): void {
		this.#mark(pageState.freeing);
	}

	/** In the order in which they were written. */
	*items(): Generator<NvsItem> {
		for (let index = 0; index < entriesPerPage; ) {
			const isWritten = readEntryState(this.#table, index) === entryState.written;
			const header = isWritten ? this.#headerAt(index) : undefined;
			if (header) yield { index, header, bytes: this.#readEntries(index, header.span) };
			index += header?.span ?? 1;
		}
	}

	/**
	 * Writes an item. A reader skips it until its data is marked as written too.
	 *
	 * @param item a multiple of an entry
	 * @returns false if the page has no room for it
	 */
	append(item: Uint8Array): boolean {
		const index = this.#nextFree;
		const end = index + item.byteLength / entryBytes;
		if (this.#state === pageState.full || end > entriesPerPage) return false;
		if (this.#state === pageState.uninitialized) {
			this.#flash.write(this.#offset, encodePageHeader(this.#sequence));
			this.#state = pageState.active;
		}
		this.#nextFree = end;
		this.#flash.write(this.#offset + entryOffset(index), item.subarray(0, entryBytes));
		this.#setStates(index, index + 1, entryState.written);
		if (end > index + 1) {
			this.#flash.write(this.#offset + entryOffset(index + 1), item.subarray(entryBytes));
			this.#setStates(index + 1, end, entryState.written);
		}
		return true;
	}

	erase(index: number, span: number): void {
		this.#setStates(index, index + span, entryState.erased);
		this.#nextFree = Math.max(this.#nextFree, index + span);
	}

	/** An entry without its state may be written already: it cannot be written again. */
	#skipHalfWritten(content: Buffer): void {
		let next = 0;
		while (next < entriesPerPage && readEntryState(this.#table, next) !== entryState.empty) next += 1;
		const isUsed = (index: number) =>
			!isBlank(content.subarray(entryOffset(index), entryOffset(index) + entryBytes));
		for (; next < entriesPerPage && isUsed(next); next++) this.#setStates(next, next + 1, entryState.erased);
		this.#nextFree = next;
	}

	/** Those not completely written or erased. */
	#eraseDamaged(): void {
		for (let index = 0; index < entriesPerPage; ) {
			const state = readEntryState(this.#table, index);
			const isErased = state === entryState.empty || state === entryState.erased;
			const header = isErased ? undefined : this.#headerAt(index);
			const span = header?.span ?? 1;
			if (!isErased && !(header && isWhole(this.#table, index, span))) this.erase(index, span);
			index += span;
		}
	}

	#headerAt(index: number): ItemHeader | undefined {
		return decodeItemHeader(this.#readEntries(index, 1), index);
	}

	#readEntries(index: number, span: number): Uint8Array {
		return this.#flash.read(this.#offset + entryOffset(index), span * entryBytes);
	}

	/** The last word first: the first entry of an item is erased last, so that a power cut leaves no data without it. */
	#setStates(begin: number, end: number, state: number): void {
		for (let index = begin; index < end; index++) setEntryState(this.#table, index, state);
		const first = Math.floor(begin / entriesPerWord);
		for (let word = Math.floor((end - 1) / entriesPerWord); word >= first; word--)
			this.#flash.write(
				this.#offset + stateTableOffset + word * 4,
				this.#table.subarray(word * 4, word * 4 + 4),
			);
	}

	#mark(state: number): void {
		const bytes = Buffer.alloc(4);
		bytes.writeUInt32LE(state);
		this.#flash.write(this.#offset, bytes);
		this.#state = state;
	}
}

function isBlank(bytes: Uint8Array): boolean {
	return bytes.every((byte) => byte === 0xff);
}

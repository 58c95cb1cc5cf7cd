/**
 * Partition `otadata`, which stores the slot to start: two sectors with one entry each, of which the higher sequence number wins. Only one
 * is rewritten at a time, so a power cut loses at most the new selection. Source: ESP-IDF, esp_flash_partitions.h and
 * bootloader_common_loader.c.
 */

import { romCrc32 } from "../../../esp32/nvs-format.js";
import { type Flash, sectorBytes } from "./flash.js";
import { partitions, type SlotIndex } from "./partitions.js";

/** esp_ota_img_states_t */
export const imageState = Object.freeze({
	new: 0,
	pendingVerify: 1,
	valid: 2,
	invalid: 3,
	aborted: 4,
	undefined: 0xffff_ffff,
});

/** esp_ota_select_entry_t, without reserved fields. */
interface OtaEntry {
	readonly sequence: number;
	/** Value of `imageState`, or another number after a power cut. */
	readonly state: number;
	readonly crc: number;
}
type EntryIndex = 0 | 1;

const entryBytes = 32;
const stateOffset = 24;
const crcOffset = 28;
const noSequence = 0xffff_ffff;

export function readEntries(flash: Flash): readonly [OtaEntry, OtaEntry] {
	return [readEntry(flash, 0), readEntry(flash, 1)];
}

function readEntry(flash: Flash, index: EntryIndex): OtaEntry {
	const bytes = flash.read(partitions.otadata.offset + index * sectorBytes, entryBytes);
	return {
		sequence: bytes.readUInt32LE(0),
		state: bytes.readUInt32LE(stateOffset),
		crc: bytes.readUInt32LE(crcOffset),
	};
}

export function makeEntry(sequence: number, state: number): OtaEntry {
	return { sequence, state, crc: crcOf(sequence) };
}

/** Erases the sector and writes the entry: two operations. */
export function writeEntry(flash: Flash, index: EntryIndex, entry: OtaEntry): void {
	const bytes = Buffer.alloc(entryBytes, 0xff);
	bytes.writeUInt32LE(entry.sequence, 0);
	bytes.writeUInt32LE(entry.state, stateOffset);
	bytes.writeUInt32LE(entry.crc, crcOffset);
	eraseEntry(flash, index);
	flash.write(partitions.otadata.offset + index * sectorBytes, bytes);
}

export function eraseEntry(flash: Flash, index: EntryIndex): void {
	flash.erase(partitions.otadata.offset + index * sectorBytes, sectorBytes);
}

/** @returns whether the entry was written completely */
export function isWritten({ sequence, crc }: OtaEntry): boolean {
	return sequence !== noSequence && crc === crcOf(sequence);
}

/** bootloader_common_ota_select_invalid */
export function isRejected({ sequence, state }: OtaEntry): boolean {
	return sequence === noSequence || state === imageState.invalid || state === imageState.aborted;
}

/** bootloader_common_get_active_otadata */
export function activeEntry(entries: readonly [OtaEntry, OtaEntry]): EntryIndex | undefined {
	const [first, second] = entries;
	const isFirst = !isRejected(first) && isWritten(first);
	const isSecond = !isRejected(second) && isWritten(second);
	if (isFirst && isSecond) return first.sequence >= second.sequence ? 0 : 1;
	return isFirst ? 0 : isSecond ? 1 : undefined;
}

export function slotOf({ sequence }: OtaEntry): SlotIndex {
	return (sequence - 1) % 2 === 0 ? 0 : 1;
}

/** esp_rom_crc32_le(UINT32_MAX, &ota_seq, 4) */
export function crcOf(sequence: number): number {
	const bytes = Buffer.alloc(4);
	bytes.writeUInt32LE(sequence);
	return romCrc32(bytes);
}

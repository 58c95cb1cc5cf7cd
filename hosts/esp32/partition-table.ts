/**
 * Parser for the binary partition table written by ESP-IDF's gen_esp32part.py. Entries have 32 bytes; the first one without the magic
 * number ends the table. Source: ESP-IDF v6.0, esp_flash_partitions.h, esp_partition_info_t.
 */

/** Default of CONFIG_PARTITION_TABLE_OFFSET on all chips. */
export const partitionTableOffset = 0x8000;
/** One flash sector. */
export const partitionTableBytes = 0x1000;

export const partitionEntry = Object.freeze({
	byteLength: 32,
	/** Little-endian. */
	magic: 0x50aa,
	typeOffset: 2,
	subtypeOffset: 3,
	startOffset: 4,
	sizeOffset: 8,
	nameOffset: 12,
	nameBytes: 16,
});

export interface PartitionPlace {
	/** Bytes from the start of the flash. */
	readonly offset: number;
	readonly byteLength: number;
}

/** @returns the partitions by name; empty if `table` is not a partition table */
export function readPartitionTable(table: Uint8Array): ReadonlyMap<string, PartitionPlace> {
	const { byteLength, magic, startOffset, sizeOffset, nameOffset, nameBytes } = partitionEntry;
	const view = new DataView(table.buffer, table.byteOffset, table.byteLength);
	const partitions = new Map<string, PartitionPlace>();
	for (let at = 0; at + byteLength <= table.byteLength; at += byteLength) {
		if (view.getUint16(at, true) !== magic) break;
		const name = table.subarray(at + nameOffset, at + nameOffset + nameBytes);
		partitions.set(String.fromCharCode(...name).replace(/\0.*$/s, ""), {
			offset: view.getUint32(at + startOffset, true),
			byteLength: view.getUint32(at + sizeOffset, true),
		});
	}
	return partitions;
}

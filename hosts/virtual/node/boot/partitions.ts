/** Partitions of a virtual device, which has smaller slots than boards. */

import { createHash } from "node:crypto";
import { partitionEntry } from "../../../esp32/partition-table.js";

export interface Partition {
	readonly offset: number;
	/** Multiple of the sector size. */
	readonly byteLength: number;
}

const slotBytes = 0x200_000;

/** Partitions with the names of hosts/esp32/sdkconfig/partitions.csv, and the kinds of esp_partition.h. */
export const partitions = {
	/** See selection.ts. */
	otadata: { offset: 0x9000, byteLength: 0x2000, kind: [1, 0x00] },
	/** Settings; see nvs-store.ts. */
	nvs: { offset: 0x10000, byteLength: 0x10000, kind: [1, 0x02] },
	ota_0: { offset: 0x20000, byteLength: slotBytes, kind: [0, 0x10] },
	ota_1: { offset: 0x220_000, byteLength: slotBytes, kind: [0, 0x11] },
} as const satisfies Readonly<
	Record<string, Partition & { readonly kind: readonly [type: number, subtype: number] }>
>;

export const slots: readonly [Partition, Partition] = [partitions.ota_0, partitions.ota_1];
export type SlotIndex = 0 | 1;

export const flashBytes = 0x420_000;

/** Encodes the partition table in the flash format of boards, with the MD5 that gen_esp32part.py appends. */
export function makePartitionTable(): Buffer {
	const { byteLength, magic, typeOffset, subtypeOffset, startOffset, sizeOffset, nameOffset } =
		partitionEntry;
	const entries = Object.entries(partitions).map(([name, { offset, byteLength: size, kind }]) => {
		const [type, subtype] = kind;
		const entry = Buffer.alloc(byteLength);
		entry.writeUInt16LE(magic);
		entry.writeUInt8(type, typeOffset);
		entry.writeUInt8(subtype, subtypeOffset);
		entry.writeUInt32LE(offset, startOffset);
		entry.writeUInt32LE(size, sizeOffset);
		entry.write(name, nameOffset, "latin1");
		return entry;
	});
	const content = Buffer.concat(entries);
	const mark = Buffer.alloc(16, 0xff).fill(0xeb, 0, 2);
	const table = Buffer.concat([content, mark, createHash("md5").update(content).digest()]);
	return Buffer.concat([table, Buffer.alloc(tableBytes - table.length, 0xff)]);
}

/** File size of gen_esp32part.py's output. */
const tableBytes = 0xc00;

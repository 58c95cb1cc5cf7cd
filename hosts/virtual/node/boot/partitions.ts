/** Partitions of a virtual device: those of the boards in the same order, with smaller slots. */

import { createHash } from "node:crypto";
import { partitionEntry } from "../../../esp32/partition-table.js";

export interface Partition {
	readonly offset: number;
	/** Multiple of the sector size. */
	readonly byteLength: number;
}

const slotBytes = 0x200_000;

/** Partitions with the names of hosts/esp32/sdkconfig/partitions.csv. */
export const partitions = Object.freeze({
	/** See ota-data.ts. */
	otadata: Object.freeze({ offset: 0x9000, byteLength: 0x2000 }),
	phy_init: Object.freeze({ offset: 0xb000, byteLength: 0x1000 }),
	/** Settings; see nvs-store.ts. */
	nvs: Object.freeze({ offset: 0x10000, byteLength: 0x10000 }),
	ota_0: Object.freeze({ offset: 0x20000, byteLength: slotBytes }),
	ota_1: Object.freeze({ offset: 0x220_000, byteLength: slotBytes }),
	coredump: Object.freeze({ offset: 0x420_000, byteLength: 0x10000 }),
	nvs_keys: Object.freeze({ offset: 0x430_000, byteLength: 0x1000 }),
	nvs_secure: Object.freeze({ offset: 0x431_000, byteLength: 0xf000 }),
	sounds: Object.freeze({ offset: 0x440_000, byteLength: 0x40000 }),
}) satisfies Readonly<Record<string, Partition>>;

export const slots: readonly [Partition, Partition] = Object.freeze([partitions.ota_0, partitions.ota_1]);
export type SlotIndex = 0 | 1;

export const flashBytes = 0x480_000;

/** Type and subtype of esp_partition.h. */
const kinds: Readonly<Record<keyof typeof partitions, readonly [type: number, subtype: number]>> = {
	otadata: [1, 0x00],
	phy_init: [1, 0x01],
	nvs: [1, 0x02],
	ota_0: [0, 0x10],
	ota_1: [0, 0x11],
	coredump: [1, 0x03],
	nvs_keys: [1, 0x04],
	nvs_secure: [1, 0x02],
	sounds: [1, 0x83],
};

/** Encodes the partition table in the flash format of boards, with the MD5 that gen_esp32part.py appends. */
export function makePartitionTable(): Buffer {
	const { byteLength, magic, typeOffset, subtypeOffset, startOffset, sizeOffset, nameOffset } =
		partitionEntry;
	const entries = Object.entries(kinds).map(([name, [type, subtype]]) => {
		const entry = Buffer.alloc(byteLength);
		const place = new Map<string, Partition>(Object.entries(partitions)).get(name);
		entry.writeUInt16LE(magic);
		entry.writeUInt8(type, typeOffset);
		entry.writeUInt8(subtype, subtypeOffset);
		entry.writeUInt32LE(place?.offset ?? 0, startOffset);
		entry.writeUInt32LE(place?.byteLength ?? 0, sizeOffset);
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

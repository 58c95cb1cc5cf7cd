/** Where things lie in a virtual device's flash: the boards' layout with smaller slots. */

export interface Partition {
	readonly offset: number;
	readonly byteLength: number;
}

/** Twice one sector, each with an entry of which slot starts (ota-data.ts). */
export const otaDataPartition: Partition = Object.freeze({ offset: 0xd000, byteLength: 0x2000 });

const slotBytes = 0x200_000;
/** ota_0 and ota_1. */
export const slots: readonly [Partition, Partition] = Object.freeze([
	Object.freeze({ offset: 0x10000, byteLength: slotBytes }),
	Object.freeze({ offset: 0x10000 + slotBytes, byteLength: slotBytes }),
]);
export type SlotIndex = 0 | 1;

export const flashBytes = 0x10000 + 2 * slotBytes;

/** Partitions of a virtual device's flash: those of the boards in the same order, with smaller slots. */

export interface Partition {
	readonly offset: number;
	/** A multiple of a sector. */
	readonly byteLength: number;
}

const slotBytes = 0x200_000;

/** Names as in hosts/esp32/sdkconfig/partitions.csv. */
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

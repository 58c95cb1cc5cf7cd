/**
 * Boot loader, which selects the slot to start. A new image starts once, in the state "pending verify". If it is not confirmed before the
 * next start, it is aborted and the previous image starts. Source: ESP-IDF v6.0, bootloader_utility.c, with
 * CONFIG_BOOTLOADER_APP_ROLLBACK_ENABLE and without a factory slot.
 */

import { messageOf } from "../../../../device/message-of.js";
import type { Flash } from "./flash.js";
import { type VerifiedImage, verifyImage } from "./image.js";
import {
	activeEntry,
	imageState,
	isRejected,
	isWritten,
	makeEntry,
	readEntries,
	slotOf,
	writeEntry,
} from "./ota-data.js";
import { type SlotIndex, slots } from "./partitions.js";

export interface Boot {
	readonly slot: SlotIndex;
	readonly image: VerifiedImage;
}

/** @throws Error if neither slot has a bootable image */
export function boot(flash: Flash): Boot {
	abortPending(flash);
	const entries = readEntries(flash);
	const order = startOrder(flash);
	const problems: string[] = [];
	for (const slot of order) {
		try {
			const image = verifyImage(flash, slots[slot]);
			// set_actual_ota_seq: first start after a factory flash, or after both entries were lost.
			if (entries.every(isRejected) && !entries.some(isWritten))
				writeEntry(flash, 0, makeEntry(slot + 1, imageState.valid));
			return { slot, image };
		} catch (error) {
			if (!flash.isPowered) throw error;
			problems.push(`slot ${slot}: ${messageOf(error)}`);
		}
	}
	throw new Error(`no bootable image: ${problems.join("; ")}`);
}

function abortPending(flash: Flash): void {
	for (const index of [0, 1] as const) {
		const entry = readEntries(flash)[index];
		if (entry.state === imageState.pendingVerify)
			writeEntry(flash, index, { ...entry, state: imageState.aborted });
	}
}

/** bootloader_utility_get_selected_boot_partition, and the order of bootloader_utility_load_boot_image. */
function startOrder(flash: Flash): readonly SlotIndex[] {
	const entries = readEntries(flash);
	if (entries.every(isRejected)) return [0, 1];
	const active = activeEntry(entries);
	if (active === undefined) return [0, 1];
	const entry = entries[active];
	if (entry.state === imageState.new)
		writeEntry(flash, active, { ...entry, state: imageState.pendingVerify });
	return slotOf(entry) === 0 ? [0, 1] : [1, 0];
}

/**
 * Boot loader, which starts the selected image. A new image starts once, in the state "pending". If it is not confirmed before the next
 * start, the previous image starts, as with ESP-IDF's boot loader and CONFIG_BOOTLOADER_APP_ROLLBACK_ENABLE.
 */

import { messageOf } from "../../../../device/message-of.js";
import type { Flash } from "./flash.js";
import { type VerifiedImage, verifyImage } from "./image.js";
import { type SlotIndex, slots } from "./partitions.js";
import { otherSlot, readSelection, select } from "./selection.js";

export interface Boot {
	readonly slot: SlotIndex;
	readonly image: VerifiedImage;
}

/** @throws Error if neither slot has a bootable image */
export function boot(flash: Flash): Boot {
	const { slot: selected, state } = readSelection(flash);
	const first = state === "pending" ? otherSlot(selected) : selected;
	if (state === "pending") select(flash, { slot: first, state: "confirmed" });
	if (state === "new") select(flash, { slot: first, state: "pending" });
	const problems: string[] = [];
	for (const slot of [first, otherSlot(first)]) {
		try {
			return { slot, image: verifyImage(flash, slots[slot]) };
		} catch (error) {
			problems.push(`slot ${slot}: ${messageOf(error)}`);
		}
	}
	throw new Error(`no bootable image: ${problems.join("; ")}`);
}

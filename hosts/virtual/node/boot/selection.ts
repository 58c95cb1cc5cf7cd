/**
 * Selected slot, in the partition `otadata`. Each change is atomic across power cuts, as with ESP-IDF, whose use of two sectors for
 * this is not simulated (QEMU runs it).
 */

import type { Flash } from "./flash.js";
import { partitions, type SlotIndex } from "./partitions.js";

/** States of a selected image. */
const states = ["new", "pending", "confirmed"] as const;

export interface Selection {
	readonly slot: SlotIndex;
	/** new: not started yet. pending: started once, unconfirmed. */
	readonly state: (typeof states)[number];
}

const { offset } = partitions.otadata;

/** @returns the factory image in an erased partition */
export function readSelection(flash: Flash): Selection {
	const [slot, state = 0] = flash.read(offset, 2);
	return { slot: slot === 1 ? 1 : 0, state: states[state] ?? "confirmed" };
}

export function select(flash: Flash, { slot, state }: Selection): void {
	flash.replace(offset, Buffer.of(slot, states.indexOf(state)));
}

export function otherSlot(slot: SlotIndex): SlotIndex {
	return slot === 0 ? 1 : 0;
}

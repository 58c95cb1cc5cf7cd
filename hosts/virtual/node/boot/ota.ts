/** Installation of images on the virtual flash, with the results and errors of ESP-IDF's OTA functions. */

import { imageLayout } from "../../../../device/protocol/image.js";
import type { Flash } from "./flash.js";
import { verifyImage } from "./image.js";
import { type SlotIndex, slots } from "./partitions.js";
import { otherSlot, readSelection, select } from "./selection.js";

export interface OtaOptions {
	readonly flash: Flash;
	/** Slot started by the boot loader. */
	readonly running: SlotIndex;
}

export class Ota {
	readonly running: SlotIndex;
	readonly #flash: Flash;
	/** Bytes written since begin(); undefined before it. */
	#wroteBytes: number | undefined;

	constructor({ flash, running }: OtaOptions) {
		this.#flash = flash;
		this.running = running;
	}

	/** Slot for the next image. */
	get next(): SlotIndex {
		return otherSlot(this.running);
	}

	/** Whether the running image rolls back at the next start unless it is confirmed. */
	get isPendingVerify(): boolean {
		const { slot, state } = readSelection(this.#flash);
		return slot === this.running && state === "pending";
	}

	/** @throws Error with the name of ESP-IDF's error as message, like the functions below */
	begin(): void {
		if (this.isPendingVerify) throw new Error("ESP_ERR_OTA_ROLLBACK_INVALID_STATE");
		// The other slot is selected if its image was damaged.
		if (readSelection(this.#flash).slot !== this.running) this.confirm();
		this.#wroteBytes = 0;
	}

	write(bytes: Uint8Array): void {
		const wroteBytes = this.#wroteBytes;
		if (wroteBytes === undefined) throw new Error("ESP_ERR_INVALID_ARG");
		const { offset, byteLength } = slots[this.next];
		if (wroteBytes + bytes.byteLength > byteLength) throw new Error("ESP_ERR_INVALID_SIZE");
		if (wroteBytes === 0 && bytes.byteLength > 0 && bytes[0] !== imageLayout.magic)
			throw new Error("ESP_ERR_OTA_VALIDATE_FAILED");
		this.#flash.write(offset + wroteBytes, bytes);
		this.#wroteBytes = wroteBytes + bytes.byteLength;
	}

	/** Ends writing. */
	end(): void {
		this.#wroteBytes = undefined;
	}

	/** Selects the image in the other slot for the next start. @throws Error if it is invalid */
	selectNext(): void {
		verifyImage(this.#flash, slots[this.next]);
		select(this.#flash, { slot: this.next, state: "new" });
	}

	/** Confirms the running image. */
	confirm(): void {
		select(this.#flash, { slot: this.running, state: "confirmed" });
	}

	/** Selects the previous image. @returns whether there is one */
	rollBack(): boolean {
		try {
			verifyImage(this.#flash, slots[this.next]);
		} catch {
			return false;
		}
		select(this.#flash, { slot: this.next, state: "confirmed" });
		return true;
	}
}

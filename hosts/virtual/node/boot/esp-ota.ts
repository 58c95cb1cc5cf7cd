/**
 * ESP-IDF's OTA functions on the virtual flash. Follows esp_ota_ops.c (v6.0, rollback enabled) step by step, because the order of erases
 * and writes decides whether a power cut bricks a board.
 */

import { imageLayout } from "../../../../device/protocol/image.js";
import { type Flash, sectorBytes } from "./flash.js";
import { verifyImage } from "./image.js";
import {
	activeEntry,
	eraseEntry,
	imageState,
	isWritten,
	makeEntry,
	readEntries,
	slotOf,
	writeEntry,
} from "./ota-data.js";
import { type SlotIndex, slots } from "./partitions.js";

export interface EspOtaOptions {
	readonly flash: Flash;
	/** Slot started by the boot loader. */
	readonly running: SlotIndex;
}

export class EspOta {
	readonly running: SlotIndex;
	readonly #flash: Flash;
	/** Bytes written since esp_ota_begin; undefined without a handle. */
	#wroteBytes: number | undefined;

	constructor({ flash, running }: EspOtaOptions) {
		this.#flash = flash;
		this.running = running;
	}

	/** esp_ota_get_next_update_partition */
	get next(): SlotIndex {
		return this.running === 0 ? 1 : 0;
	}

	/** esp_ota_get_state_partition of the running slot */
	get state(): number | undefined {
		return readEntries(this.#flash).find((entry) => slotOf(entry) === this.running && isWritten(entry))
			?.state;
	}

	/** esp_ota_begin with OTA_WITH_SEQUENTIAL_WRITES. @throws Error with the name of ESP-IDF's error as message */
	begin(): void {
		if (this.state === imageState.pendingVerify) throw new Error("ESP_ERR_OTA_ROLLBACK_INVALID_STATE");
		this.#wroteBytes = 0;
		this.#invalidateInactive();
	}

	/** esp_ota_write. @throws Error */
	write(bytes: Uint8Array): void {
		const wroteBytes = this.#wroteBytes;
		if (wroteBytes === undefined) throw new Error("ESP_ERR_INVALID_ARG");
		const { offset, byteLength } = slots[this.next];
		if (bytes.byteLength === 0) return;
		if (wroteBytes + bytes.byteLength > byteLength) throw new Error("ESP_ERR_INVALID_SIZE");
		const firstSector = Math.floor(wroteBytes / sectorBytes);
		const lastSector = Math.floor((wroteBytes + bytes.byteLength - 1) / sectorBytes);
		const from = wroteBytes % sectorBytes === 0 ? firstSector : firstSector + 1;
		if (lastSector >= from)
			this.#flash.erase(offset + from * sectorBytes, (lastSector - from + 1) * sectorBytes);
		if (wroteBytes === 0 && bytes[0] !== imageLayout.magic) throw new Error("ESP_ERR_OTA_VALIDATE_FAILED");
		this.#flash.write(offset + wroteBytes, bytes);
		this.#wroteBytes = wroteBytes + bytes.byteLength;
	}

	/** esp_ota_abort */
	abort(): void {
		this.#wroteBytes = undefined;
	}

	/** esp_ota_set_boot_partition for the inactive slot. @throws Error if the image is invalid */
	setBootPartition(): void {
		verifyImage(this.#flash, slots[this.next]);
		const entries = readEntries(this.#flash);
		const active = activeEntry(entries);
		const wanted = this.next + 1;
		if (active === undefined) return writeEntry(this.#flash, 0, makeEntry(wanted, imageState.new));
		let sequence = wanted % 2;
		while (entries[active].sequence > sequence) sequence += 2;
		writeEntry(this.#flash, active === 0 ? 1 : 0, makeEntry(sequence, imageState.new));
	}

	/** esp_ota_mark_app_valid_cancel_rollback */
	markValid(): void {
		const entries = readEntries(this.#flash);
		const active = activeEntry(entries);
		if (active === undefined) throw new Error("ESP_FAIL");
		if (entries[active].state === imageState.valid) return;
		writeEntry(this.#flash, active, { ...entries[active], state: imageState.valid });
	}

	/** esp_ota_mark_app_invalid_rollback, without the restart. @returns whether there is an image to roll back to */
	markInvalid(): boolean {
		const entries = readEntries(this.#flash);
		const active = activeEntry(entries);
		if (active === undefined) return false;
		const previous = entries[active === 0 ? 1 : 0];
		if (
			!isWritten(previous) ||
			previous.state === imageState.invalid ||
			previous.state === imageState.aborted
		)
			return false;
		try {
			verifyImage(this.#flash, slots[slotOf(previous)]);
		} catch {
			return false;
		}
		writeEntry(this.#flash, active, { ...entries[active], state: imageState.invalid });
		return true;
	}

	/** esp_ota_invalidate_inactive_ota_data_slot: ensures that no entry selects the slot to be overwritten. */
	#invalidateInactive(): void {
		const entries = readEntries(this.#flash);
		const active = activeEntry(entries);
		if (active === undefined) return;
		const inactive = active === 0 ? 1 : 0;
		if (!isWritten(entries[inactive]) || slotOf(entries[inactive]) === this.running) return;
		eraseEntry(this.#flash, inactive);
	}
}

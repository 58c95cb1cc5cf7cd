import Flash, { type Flash as Partition } from "embedded:storage/flash";
import Update, { type Updater } from "embedded:update";
import FFI from "mc/ffi";
import type {
	BootState as BootStateInterface,
	UpdateSlot as UpdateSlotInterface,
} from "../../device/host.js";

/** The inactive slot, by ESP-IDF's update functions (`esp_ota_begin` etc.). */
export class UpdateSlot implements UpdateSlotInterface {
	#partition: Partition | undefined;
	#update: Updater | undefined;

	get byteLength(): number {
		return this.#open().status().size;
	}

	/** Mode "a" erases sector by sector while writing, so that no turn lasts longer than one block. */
	open(): void {
		this.#abort();
		this.#update = Update.open({ partition: this.#open(), mode: "a" });
	}

	write(bytes: Uint8Array): void {
		if (!this.#update) throw new Error("the slot is not open");
		this.#update.write(bytes);
	}

	read(buffer: Uint8Array, offset: number): void {
		this.#open().read(buffer, offset);
	}

	/** ESP-IDF verifies the image twice within this call. */
	complete(): void {
		if (!this.#update) throw new Error("the slot is not open");
		this.#update.complete();
		this.close();
	}

	close(): void {
		this.#abort();
		this.#partition?.close();
		this.#partition = undefined;
	}

	#abort(): void {
		this.#update?.close();
		this.#update = undefined;
	}

	#open(): Partition {
		this.#partition ??= Flash.open({ path: "nextota" });
		return this.#partition;
	}
}

/** ESP-IDF's rollback. A new image starts once; unless it is confirmed, the next restart returns to the previous one. */
export class BootState implements BootStateInterface {
	readonly #ffi = new FFI();

	get isPendingVerify(): boolean {
		return this.#ffi.board_is_pending_verify() === 1;
	}

	/** @returns whether it was written to flash */
	confirm(): boolean {
		return this.#ffi.esp_ota_mark_app_valid_cancel_rollback() === 0;
	}

	/** Returns only if there is no previous image. */
	rollBack(): void {
		this.#ffi.board_crash_expect_restart();
		this.#ffi.esp_ota_mark_app_invalid_rollback_and_reboot();
	}
}

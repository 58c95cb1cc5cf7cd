import Flash, { type Flash as Partition } from "embedded:storage/flash";
import Update, { type Updater } from "embedded:update";
import { nativeFunctions } from "board/native";
import Timer from "timer";
import type {
	BootState as BootStateInterface,
	RunningImage as RunningImageInterface,
	UpdateSlot as UpdateSlotInterface,
} from "../../device/host.js";

const pollMs = 50;

/** Inactive OTA slot, written through ESP-IDF's update functions (`esp_ota_begin` etc.). */
export class UpdateSlot implements UpdateSlotInterface {
	#partition: Partition | undefined;
	#update: Updater | undefined;

	get byteLength(): number {
		return this.#open().status().size;
	}

	/** Opens the slot in mode "a", which erases each sector while writing, so that no call takes longer than one block. */
	open(): void {
		this.#abort();
		this.#update = Update.open({ partition: this.#open(), mode: "a" });
	}

	write(bytes: Uint8Array): void {
		if (!this.#update) throw new Error("the slot is not open");
		this.#update.write(bytes);
	}

	/**
	 * Verifies and selects the image in a separate task (board-update.c). Skips `esp_ota_end`, which would verify the image a second time
	 * and otherwise only writes the rest of a 16-byte block, which an image never has.
	 */
	complete(onEnd: (problem: string | undefined) => void): void {
		if (!this.#update) throw new Error("the slot is not open");
		this.close();
		const ffi = nativeFunctions();
		ffi.board_update_select();
		const timer = Timer.repeat(() => {
			if (ffi.board_update_is_selecting() === 1) return;
			Timer.clear(timer);
			const result = ffi.board_update_result();
			onEnd(result === 0 ? undefined : ffi.esp_err_to_name(result));
		}, pollMs);
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

export class RunningImage implements RunningImageInterface {
	readonly #partition = Flash.open({ path: "running" });

	get byteLength(): number {
		return this.#partition.status().size;
	}

	read(buffer: Uint8Array, offset: number): void {
		this.#partition.read(buffer, offset);
	}

	close(): void {
		this.#partition.close();
	}
}

/** Rollback state of ESP-IDF. A new image starts once; unless it is confirmed, the next restart rolls back. */
export class BootState implements BootStateInterface {
	readonly #ffi = nativeFunctions();

	get isPendingVerify(): boolean {
		return this.#ffi.board_is_pending_verify() === 1;
	}

	/** @returns whether the confirmation was written to flash */
	confirm(): boolean {
		return this.#ffi.esp_ota_mark_app_valid_cancel_rollback() === 0;
	}

	/** Returns only if there is no previous image. */
	rollBack(): void {
		this.#ffi.board_crash_expect_restart();
		this.#ffi.esp_ota_mark_app_invalid_rollback_and_reboot();
	}
}

import Flash from "embedded:storage/flash";
import { nativeFunctions } from "board/native";
import Timer from "timer";
import type {
	BootState as BootStateInterface,
	RunningImage as RunningImageInterface,
	UpdateSlot as UpdateSlotInterface,
} from "../../device/host.js";

const pollMs = 50;

/** Inactive OTA slot, written by board-update.c. */
export class UpdateSlot implements UpdateSlotInterface {
	readonly #ffi = nativeFunctions();
	readonly #partition = Flash.open({ path: "nextota" });
	#isOpen = false;

	get byteLength(): number {
		return this.#partition.status().size;
	}

	open(): void {
		this.#isOpen = false;
		this.#check(this.#ffi.board_update_open());
		this.#isOpen = true;
	}

	write({ buffer, byteOffset, length }: Uint8Array<ArrayBuffer>): void {
		if (!this.#isOpen) throw new Error("the slot is not open");
		this.#check(this.#ffi.board_update_write(buffer, byteOffset, length));
	}

	/** Verifies and selects the image in a separate task. */
	complete(onEnd: (problem: string | undefined) => void): void {
		if (!this.#isOpen) throw new Error("the slot is not open");
		this.close();
		const ffi = this.#ffi;
		ffi.board_update_select();
		const timer = Timer.repeat(() => {
			if (ffi.board_update_is_selecting() === 1) return;
			Timer.clear(timer);
			const result = ffi.board_update_result();
			onEnd(result === 0 ? undefined : ffi.esp_err_to_name(result));
		}, pollMs);
	}

	close(): void {
		this.#isOpen = false;
		this.#partition.close();
	}

	/** @param error an esp_err_t */
	#check(error: number): void {
		if (error !== 0) throw new Error(this.#ffi.esp_err_to_name(error));
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

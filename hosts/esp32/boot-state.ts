/**
 * The boot loader's probation of a new image: it starts once, and unless it is confirmed the next restart brings the former
 * one back. Confirmed too early, an image that cannot reach its gateway could never be replaced again.
 */

import FFI from "mc/ffi";
import type { BootState as Interface } from "../../device/host.js";

export class BootState implements Interface {
	readonly #ffi = new FFI();

	/** Whether the running image is new and not confirmed yet. Until then no update can begin. */
	get isPendingVerify(): boolean {
		return this.#ffi.board_is_pending_verify() === 1;
	}

	/** The running image is good: it stays. Returns whether that could be written to flash. */
	confirm(): boolean {
		return this.#ffi.esp_ota_mark_app_valid_cancel_rollback() === 0;
	}

	/** Gives the running image up and restarts with the former one. Returns only where there is none. */
	rollBack(): void {
		this.#ffi.esp_ota_mark_app_invalid_rollback_and_reboot();
	}
}

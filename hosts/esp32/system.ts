/** System information, read from ESP-IDF through the SDK's foreign function interface. */

import { nativeFunctions } from "board/native";
import Time from "time";
import type { System } from "../../device/host.js";

const bytesPerMB = 1024 * 1024;

/** Must not be constructed at module level: preloaded modules are evaluated on the build machine. */
export class SystemFacts implements System {
	readonly #ffi = nativeFunctions();
	readonly macAddress: string;
	readonly idfVersion: string;
	readonly firmwareVersion: string;
	readonly securityVersion: number;
	readonly imageId: string;
	readonly buildTime: number;
	readonly cpuFrequencyMHz: number;
	readonly flashSizeMB: number;
	readonly psramSizeMB: number;
	readonly resetReason: string;

	constructor() {
		const ffi = this.#ffi;
		const mac = new Uint8Array(6);
		ffi.board_read_mac(mac.buffer);
		this.macAddress = hexOf(mac).join(":");
		const image = new Uint8Array(8);
		ffi.board_read_image_id(image.buffer);
		this.imageId = hexOf(image).join("");
		this.idfVersion = ffi.esp_get_idf_version();
		this.firmwareVersion = ffi.board_firmware_version();
		this.securityVersion = ffi.board_firmware_security_version();
		// Local time if SOURCE_DATE_EPOCH was not set, which is accurate enough to check certificates.
		this.buildTime = Date.parse(`${ffi.board_firmware_built_at()} GMT`) / 1000;
		this.cpuFrequencyMHz = Math.round(ffi.esp_clk_cpu_freq() / 1_000_000);
		this.flashSizeMB = Math.round(ffi.board_flash_bytes() / bytesPerMB);
		this.psramSizeMB = Math.round(ffi.board_psram_bytes() / bytesPerMB);
		this.resetReason = resetReasonName(ffi.esp_reset_reason());
	}

	get compiledModel(): string {
		return this.#ffi.board_firmware_model();
	}

	get uptimeMs(): number {
		return this.#ffi.board_uptime_ms();
	}

	get freeHeapBytes(): number {
		return this.#ffi.esp_get_free_heap_size();
	}

	get minFreeHeapBytes(): number {
		return this.#ffi.esp_get_minimum_free_heap_size();
	}

	restart(): void {
		this.#ffi.board_crash_expect_restart();
		this.#ffi.esp_restart();
	}

	print(text: string): void {
		this.#ffi.board_print(text);
		this.#ffi.board_trace(text);
	}

	setTime(seconds: number): void {
		Time.set(seconds);
	}
}

function hexOf(bytes: Uint8Array): string[] {
	return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0"));
}

/** Names for the values of `esp_reset_reason_t`, in order (components/esp_system/include/esp_system.h, v6.0). */
const resetReasons = Object.freeze([
	"UNKNOWN_RESET",
	"POWERON_RESET",
	"EXT_RESET",
	"SW_RESET",
	"PANIC_RESET",
	"INT_WDT_RESET",
	"TASK_WDT_RESET",
	"WDT_RESET",
	"DEEPSLEEP_RESET",
	"BROWNOUT_RESET",
	"SDIO_RESET",
	"USB_RESET",
	"JTAG_RESET",
	"EFUSE_RESET",
	"PWR_GLITCH_RESET",
	"CPU_LOCKUP_RESET",
]);

function resetReasonName(reason: number): string {
	return resetReasons[reason] ?? "UNKNOWN_RESET";
}

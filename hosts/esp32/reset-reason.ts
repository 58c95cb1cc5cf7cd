/** The names of ESP-IDF's reset reasons, in the manner of the two that the specification gives. */

/** In the order of `esp_reset_reason_t` (components/esp_system/include/esp_system.h, v6.0). */
const names = Object.freeze([
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

/** @param reason as `esp_reset_reason()` returns it; one that is not known is `UNKNOWN_RESET` */
export function resetReasonName(reason: number): string {
	return names[reason] ?? "UNKNOWN_RESET";
}

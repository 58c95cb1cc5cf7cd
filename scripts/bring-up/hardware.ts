/** Hardware that a bring-up expects, and its program. */

/** Path relative to the project. */
export const bringUpManifest = "hosts/esp32/bring-up/manifest.json";

function range(first: number, last: number): readonly number[] {
	return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** Module of all boards. */
export const boardModule = {
	name: "ESP32-S3-WROOM-1-N16R8",
	flashMB: 16,
	psramMB: 8,
	/** Candidates for miswired parts: GPIOs (data sheet, table 3) without those of strapping, USB, flash, PSRAM and console. */
	freePins: [...range(1, 2), ...range(4, 18), 21, ...range(38, 42), 47, 48],
	/** GPIOs of ADC1. */
	analogPins: range(1, 10),
} as const;

/** What the stand-ins that write to flash share: the flash as it is while a device runs, and what a power cut does. */

import type { EspOta } from "../boot/esp-ota.js";
import { type Flash, PowerCut } from "../boot/flash.js";
import type { NvsStore } from "../boot/nvs-store.js";

/** `ota` and `nvs` are other objects after a restart. */
export interface FlashOwner {
	readonly flash: Flash;
	readonly ota: EspOta;
	readonly nvs: NvsStore;
	/** Power went away in the middle of an operation. */
	onPowerCut(): void;
}

/** Runs an action on the flash. @throws what it throws; the owner is told of a power cut before */
export function guarded<T>(owner: Pick<FlashOwner, "onPowerCut">, action: () => T): T {
	try {
		return action();
	} catch (error) {
		if (error instanceof PowerCut) owner.onPowerCut();
		throw error;
	}
}

/** Interfaces between simulated peripherals and their device. */

import type { Kind, Peripherals, SystemFacts, Values } from "../../peripherals.js";
import type { Board } from "../board.js";
import { type Flash, PowerCut } from "../boot/flash.js";
import type { NvsStore } from "../boot/nvs-store.js";
import type { Ota } from "../boot/ota.js";
import type { RtcMemory } from "../rtc-memory.js";

/** Device of a peripheral. */
export interface Hardware {
	readonly board: Board;
	readonly flash: Flash;
	readonly ota: Ota;
	readonly nvs: NvsStore;
	readonly rtc: RtcMemory;
	readonly facts: SystemFacts;
	onPowerCut(): void;
}

/** Channel opened by the firmware. */
export interface Opened<K extends Kind> {
	readonly options: Peripherals[K]["options"];
	send<E extends keyof Peripherals[K]["events"] & string>(
		event: E,
		...values: Values<Peripherals[K]["events"][E]>
	): void;
}

/** Node's half of a channel: its posts and calls. Received bytes are views that are valid until the function returns. */
export type Simulated<K extends Kind> = Peripherals[K]["posts"] &
	Peripherals[K]["calls"] & { onClose?(): void };

export type Simulate<K extends Kind> = (channel: Opened<K>, hardware: Hardware) => Simulated<K>;

/** Runs an action on the flash and reports a power cut. @throws errors of `action` */
export function onFlash<T>(hardware: Pick<Hardware, "onPowerCut">, action: () => T): T {
	try {
		return action();
	} catch (error) {
		if (error instanceof PowerCut) hardware.onPowerCut();
		throw error;
	}
}

/** What a simulated peripheral gets, and what it supplies. */

import type { Kind, Peripherals, SystemFacts, Values } from "../../peripherals.js";
import type { Board } from "../board.js";
import type { EspOta } from "../boot/esp-ota.js";
import { type Flash, PowerCut } from "../boot/flash.js";
import type { NvsStore } from "../boot/nvs-store.js";
import type { RtcMemory } from "../rtc-memory.js";
import type { ReceiveBuffers } from "./receive-buffers.js";

/** The device that a peripheral belongs to. */
export interface Hardware {
	readonly board: Board;
	readonly flash: Flash;
	readonly ota: EspOta;
	readonly nvs: NvsStore;
	readonly rtc: RtcMemory;
	readonly receiveBuffers: ReceiveBuffers;
	readonly facts: SystemFacts;
	onPowerCut(): void;
}

/** A channel that the firmware opened. */
export interface Opened<K extends Kind> {
	readonly options: Peripherals[K]["options"];
	send<E extends keyof Peripherals[K]["events"] & string>(
		event: E,
		...values: Values<Peripherals[K]["events"][E]>
	): void;
}

/** Absent where the table names none. */
type Requests<Name extends string, T> = keyof T extends never ? unknown : { readonly [N in Name]: T };

/** Node's half of a channel. The bytes that it gets are views that are valid until it returns. */
export type Simulated<K extends Kind> = Requests<"posts", Peripherals[K]["posts"]> &
	Requests<"calls", Peripherals[K]["calls"]> & { onClose?(): void };

export type Simulate<K extends Kind> = (channel: Opened<K>, hardware: Hardware) => Simulated<K>;

/** Reports a power cut. @throws what `action` throws */
export function onFlash<T>(hardware: Pick<Hardware, "onPowerCut">, action: () => T): T {
	try {
		return action();
	} catch (error) {
		if (error instanceof PowerCut) hardware.onPowerCut();
		throw error;
	}
}

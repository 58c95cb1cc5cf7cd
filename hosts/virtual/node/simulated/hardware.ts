import { isRecord } from "../../../../device/protocol/schema.js";
import type { Board } from "../board.js";
import type { EspOta } from "../boot/esp-ota.js";
import { type Flash, PowerCut } from "../boot/flash.js";
import type { NvsStore } from "../boot/nvs-store.js";
import type { Channel, ChannelHandler } from "../channel.js";
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
	/** Named as in System of device/host.ts. */
	readonly facts: Readonly<Record<string, string | number>>;
	onPowerCut(): void;
}

export interface PeripheralOptions {
	readonly channel: Channel;
	readonly hardware: Hardware;
}

/** The Node side of one channel that the firmware opened. */
export type Peripheral = new (options: PeripheralOptions) => ChannelHandler;

/** Reports a power cut. @throws what `action` throws */
export function onFlash<T>(hardware: Pick<Hardware, "onPowerCut">, action: () => T): T {
	try {
		return action();
	} catch (error) {
		if (error instanceof PowerCut) hardware.onPowerCut();
		throw error;
	}
}

/** @throws Error where `detail` has no string of that name */
export function textOf(detail: unknown, name: string): string {
	const value = isRecord(detail) ? detail[name] : undefined;
	if (typeof value !== "string") throw new Error(`${name} must be a string`);
	return value;
}

/** @throws Error where `detail` has no number of that name */
export function numberOf(detail: unknown, name: string): number {
	const value = isRecord(detail) ? detail[name] : undefined;
	if (typeof value !== "number") throw new Error(`${name} must be a number`);
	return value;
}

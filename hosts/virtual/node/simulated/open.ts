/** Opens the simulated peripheral of a channel. */

import type { ChannelHandler } from "../channel.js";
import type { Peripheral, PeripheralOptions } from "./hardware.js";
import { Resolver, TimeQuery, WiFi } from "./network.js";
import {
	AudioOutput,
	Button,
	CapacitivePad,
	HapticMotor,
	LightSensor,
	PixelStrip,
	SMBus,
} from "./peripherals.js";
import { Rtc } from "./rtc.js";
import { KeyValueStore, Resource } from "./storage.js";
import { System } from "./system.js";
import { TcpSocket } from "./tcp.js";
import { BootState, Sha256, UpdateSlot } from "./update.js";
import { WebSocketClient } from "./websocket-client.js";

/** By the kind of channel that the firmware opens. */
const peripherals: Readonly<Record<string, Peripheral>> = {
	audio: AudioOutput,
	"boot-state": BootState,
	digital: Button,
	dns: Resolver,
	haptics: HapticMotor,
	"key-value": KeyValueStore,
	light: LightSensor,
	pixels: PixelStrip,
	resource: Resource,
	rtc: Rtc,
	sha256: Sha256,
	smbus: SMBus,
	system: System,
	tcp: TcpSocket,
	time: TimeQuery,
	touch: CapacitivePad,
	"update-slot": UpdateSlot,
	websocket: WebSocketClient,
	wifi: WiFi,
};

/** @param added by kind of channel, beside or instead of the simulated ones @throws Error where there is none for this kind of channel */
export function openPeripheral(
	options: PeripheralOptions,
	added: Readonly<Record<string, Peripheral>> = {},
): ChannelHandler {
	const { kind } = options.channel;
	const Peripheral = added[kind] ?? peripherals[kind];
	if (!Peripheral) throw new Error(`the virtual host has no simulated peripheral "${kind}"`);
	return new Peripheral(options);
}

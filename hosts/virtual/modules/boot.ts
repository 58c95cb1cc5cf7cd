/** Entry point of the virtual host: sets the global `device` (device/host.ts) and calls main. */

import main from "main";
import config from "mc/config";
import { boardModels, hasPart, type Model, requireModel } from "protocol/models";
import type { Host } from "../../../device/host.js";
import { resolve, TimeQuery, UdpSocket, WiFi } from "./network.js";
import {
	AudioOutput,
	buttons,
	CapacitivePad,
	Codec,
	HapticMotor,
	LightSensor,
	PixelStrip,
	SerialPort,
} from "./peripherals.js";
import { CrashMemory, KeyValueStore, TraceMemory } from "./storage.js";
import { System } from "./system.js";
import { TcpSocket, TlsSocket } from "./tcp.js";
import { BootState, RunningImage, Sha256, UpdateSlot } from "./update.js";

export default function boot(): void {
	const device = createHost(requireModel(config.model));
	Object.defineProperty(globalThis, "device", { value: device });
	main();
}

function createHost(model: Model): Host {
	return {
		model,
		chip: "virtual",
		system: System,
		network: {
			wifi: WiFi,
			resolve,
			ws: TcpSocket,
			http: TcpSocket,
			wss: TlsSocket,
			https: TlsSocket,
			time: TimeQuery,
			udp: UdpSocket,
		},
		update: { slot: UpdateSlot, running: RunningImage, boot: BootState },
		crash: CrashMemory,
		trace: TraceMemory,
		serial: SerialPort,
		digest: { sha256: Sha256 },
		storage: { settings: KeyValueStore },
		soundBufferBytes: 40_960,
		peripheral: {
			button: buttons,
			ledRing: class extends PixelStrip {
				constructor() {
					super(boardModels[model].pixels);
				}
			},
			audioOutput: AudioOutput,
			codec: Codec,
			...(hasPart(model, "haptics") && { haptics: HapticMotor }),
			...(hasPart(model, "ambientLight") && { ambientLight: LightSensor }),
			...(hasPart(model, "touch") && { touch: CapacitivePad }),
		},
	};
}

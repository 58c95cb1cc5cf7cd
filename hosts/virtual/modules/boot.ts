/** Entry point of the virtual host: sets the global `device` (device/host.ts), as a board's host does, and calls main. */

import main from "main";
import config from "mc/config";
import type { Host, HttpClientOptions, TrustOptions } from "../../../device/host.js";
import type { Model } from "../../../device/protocol/schema.js";
import { HttpClient, type HttpSocketOptions } from "./http-client.js";
import { Resolver, TimeQuery, WiFi } from "./network.js";
import {
	AudioOutput,
	CapacitivePad,
	Codec,
	HapticMotor,
	LightSensor,
	MuteButton,
	PixelStrip,
	PlayButton,
	VolumeDownButton,
	VolumeUpButton,
} from "./peripherals.js";
import { CrashMemory, TraceMemory } from "./rtc.js";
import { KeyValueStore } from "./storage.js";
import { System } from "./system.js";
import { TcpSocket } from "./tcp.js";
import { BootState, Sha256, UpdateSlot } from "./update.js";
import { SecureWebSocketClient, WebSocketClient } from "./websocket-client.js";

export default function boot(): void {
	const device = createHost(config.model === "PROTO-1" ? "PROTO-1" : "DEV-1");
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
			dns: Resolver,
			ws: WebSocketClient,
			wss: SecureWebSocketClient,
			http: PlainHttp,
			https: SecureHttp,
			time: TimeQuery,
		},
		update: { slot: UpdateSlot, boot: BootState },
		crash: CrashMemory,
		trace: TraceMemory,
		digest: { sha256: Sha256 },
		storage: { settings: KeyValueStore },
		peripheral: {
			button: {
				play: PlayButton,
				mute: MuteButton,
				volumeUp: VolumeUpButton,
				volumeDown: VolumeDownButton,
			},
			ledRing: PixelStrip,
			audioOutput: AudioOutput,
			codec: Codec,
			...(model === "PROTO-1" && {
				haptics: HapticMotor,
				ambientLight: LightSensor,
				touch: CapacitivePad,
			}),
		},
	};
}

class PlainHttp extends HttpClient {
	constructor(options: HttpClientOptions) {
		super(options, TcpSocket);
	}
}

class SecureHttp extends HttpClient {
	/** Without `certificate` the authorities that Node knows are trusted. */
	constructor({ certificate, onUntrusted, ...options }: HttpClientOptions & TrustOptions) {
		const secure = { certificate, onUntrusted };
		super(
			options,
			class extends TcpSocket {
				constructor(socketOptions: HttpSocketOptions) {
					super({ ...socketOptions, secure });
				}
			},
		);
	}
}

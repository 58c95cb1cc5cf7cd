/** Entry point of the virtual host: sets the global `device` (device/host.ts) and calls main. */

import main from "main";
import config from "mc/config";
import { boardModels, hasPart, type Model, requireModel } from "protocol/models";
import type { Host, HttpClientOptions, TrustOptions } from "../../../device/host.js";
import { HttpClient } from "./http-client.js";
import { Resolver, TimeQuery, UdpSocket, WiFi } from "./network.js";
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
import { TcpSocket } from "./tcp.js";
import { BootState, RunningImage, Sha256, UpdateSlot } from "./update.js";
import { SecureWebSocketClient, WebSocketClient } from "./websocket-client.js";

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
			dns: Resolver,
			ws: WebSocketClient,
			wss: SecureWebSocketClient,
			http: PlainHttp,
			https: SecureHttp,
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

class PlainHttp extends HttpClient {
	constructor(options: HttpClientOptions) {
		super(options, (socketOptions) => new TcpSocket(socketOptions));
	}
}

class SecureHttp extends HttpClient {
	/** Trusts Node's authorities without a `certificate`. */
	constructor({ certificate, onUntrusted, ...options }: HttpClientOptions & TrustOptions) {
		const secure = { certificate, onUntrusted };
		super(options, (socketOptions) => new TcpSocket({ ...socketOptions, secure }));
	}
}

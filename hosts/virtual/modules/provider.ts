/** The global `device` of a virtual device (device/host.ts). */

import type { Host } from "../../../device/host.js";
import type { Model } from "../../../device/protocol/schema.js";
import { CapacitivePad, LightSensor } from "./analog-input.js";
import AudioOutput from "./audio-output.js";
import BootState from "./boot-state.js";
import Codec from "./codec.js";
import { MuteButton, PlayButton, VolumeDownButton, VolumeUpButton } from "./digital-input.js";
import { PlainHttp, SecureHttp } from "./http.js";
import KeyValueStore from "./key-value-store.js";
import PixelStrip from "./pixel-strip.js";
import HapticOutput from "./pulse-width.js";
import Resolver from "./resolver.js";
import Sha256 from "./sha256.js";
import System from "./system.js";
import TimeQuery from "./time-query.js";
import UpdateSlot from "./update-slot.js";
import { SecureWebSocketClient, WebSocketClient } from "./websocket-client.js";
import WiFi from "./wifi.js";

/** The board that a virtual device of this model stands for. */
export default function provide(model: Model): Host {
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
				haptics: HapticOutput,
				ambientLight: LightSensor,
				touch: CapacitivePad,
			}),
		},
	};
}

/** Creates the global `device` (device/host.ts) of a board from its pins. */

import SMBus from "embedded:io/smbus";
import TCP from "embedded:io/socket/tcp";
import UDP from "embedded:io/socket/udp";
import { CrashMemory, TraceMemory } from "board/crash";
import { ES8311 } from "board/es8311";
import { resolve, SntpQuery } from "board/network";
import { AudioOutput, PushButton, Ring } from "board/peripherals";
import { ConsolePort } from "board/serial";
import { SecureSocket } from "board/sockets";
import { SettingsStore } from "board/storage";
import { SystemFacts } from "board/system";
import { BootState, RunningImage, UpdateSlot } from "board/update";
import { WiFiStation } from "board/wifi-station";
import { Sha256 } from "moddable/sha256";
import { boardModels, type Model } from "protocol/models";
import type { AudioOutputOptions, ButtonPart, Host } from "../../device/host.js";
import type { BoardPins, BoardTuning } from "./pins.js";

export interface BoardOptions {
	readonly model: Model;
	readonly pins: BoardPins;
	readonly tuning: BoardTuning;
}

/** Creates the parts common to all models. Each class has its pins as constants, so that the linker can place it in ROM. */
export function createBoard(options: BoardOptions): Host {
	const { model, pins, tuning } = options;
	const ring = Object.freeze({ pin: pins.ledRing, length: boardModels[model].pixels, order: pins.ledOrder });
	return {
		model,
		chip: "esp32s3",
		system: SystemFacts,
		network: {
			wifi: WiFiStation,
			resolve,
			ws: TCP,
			http: TCP,
			wss: SecureSocket,
			https: SecureSocket,
			time: SntpQuery,
			udp: UDP,
		},
		update: { slot: UpdateSlot, running: RunningImage, boot: BootState },
		crash: CrashMemory,
		trace: TraceMemory,
		serial: ConsolePort,
		digest: { sha256: Sha256 },
		storage: { settings: SettingsStore },
		soundBufferBytes: 65_536,
		peripheral: {
			button: {
				play: buttonAt(pins.button.play),
				mute: buttonAt(pins.button.mute),
				volumeUp: buttonAt(pins.button.volumeUp),
				volumeDown: buttonAt(pins.button.volumeDown),
			},
			ledRing: class extends Ring {
				constructor() {
					super(ring);
				}
			},
			audioOutput: class extends AudioOutput {
				constructor(options: AudioOutputOptions) {
					super({ ...options, amplifierPin: pins.amplifier, leadInMs: tuning.amplifierStartMs });
				}
			},
			codec: class extends ES8311 {
				constructor() {
					super({ io: SMBus, ...pins.codec });
				}
			},
		},
	};
}

function buttonAt(gpio: number): ButtonPart {
	const pin = gpio;
	return class extends PushButton {
		constructor(options: { onReadable: () => void }) {
			super({ pin, onReadable: options.onReadable });
		}
	};
}

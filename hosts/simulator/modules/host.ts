/** Creates the global `device` (device/host.ts) of the simulator. */

import { Sha256 } from "moddable/sha256";
import { boardModels, hasPart, type Model } from "protocol/models";
import { AudioCodec, AudioOut } from "simulator/audio";
import { CrashMemory, TraceMemory } from "simulator/crash";
import { Button, LightSensor, TouchSensor } from "simulator/inputs";
import { createNetwork } from "simulator/network";
import { HapticMotor, Ring } from "simulator/outputs";
import type { PanelOptions } from "simulator/panel";
import { SettingsStore } from "simulator/settings";
import { Speaker } from "simulator/speaker";
import { SimulatedSystem } from "simulator/system";
import { AlwaysConfirmed, NoImage, NoSlot } from "simulator/update";
import type { TraceLines } from "virtual/trace-lines";
import type { AudioOutputOptions, ButtonName, ButtonPart, Host } from "../../../device/host.js";

export interface HostOptions extends PanelOptions {
	readonly model: Model;
	/** Trace output of the firmware. */
	readonly lines: TraceLines;
}

export function createHost({ model, panel, boot, lines }: HostOptions): Host {
	const speaker = new Speaker();
	/** Options to which the classes below are bound. */
	const shared = { panel, boot };
	const button = (name: ButtonName): ButtonPart =>
		class extends Button {
			constructor(options: { onReadable: () => void }) {
				super({ ...options, panel, boot, name });
			}
		};
	return {
		model,
		chip: "virtual",
		system: SimulatedSystem.bind(undefined, shared),
		network: createNetwork(shared),
		update: { slot: NoSlot, running: NoImage, boot: AlwaysConfirmed },
		crash: CrashMemory.bind(undefined, shared),
		trace: TraceMemory.bind(undefined, { lines }),
		digest: { sha256: Sha256 },
		soundBufferBytes: 65_536,
		storage: { settings: SettingsStore.bind(undefined, shared) },
		peripheral: {
			button: {
				play: button("play"),
				mute: button("mute"),
				volumeUp: button("volumeUp"),
				volumeDown: button("volumeDown"),
			},
			ledRing: Ring.bind(undefined, { panel, length: boardModels[model].pixels }),
			audioOutput: class extends AudioOut {
				constructor(options: AudioOutputOptions) {
					super({ ...options, panel, speaker });
				}
			},
			codec: AudioCodec.bind(undefined, { panel, speaker }),
			...(hasPart(model, "haptics") && { haptics: HapticMotor.bind(undefined, shared) }),
			...(hasPart(model, "ambientLight") && { ambientLight: LightSensor.bind(undefined, shared) }),
			...(hasPart(model, "touch") && { touch: TouchSensor.bind(undefined, shared) }),
		},
	};
}

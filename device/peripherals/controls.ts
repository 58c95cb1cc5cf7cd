/** Component for the commands that control the peripherals. */

import { busy, type CommandOutcome, type Component } from "../component.js";
import { lightOf } from "../protocol/light.js";
import type { Command } from "../protocol/messages.js";
import type { Audio } from "./audio.js";
import type { Haptics } from "./haptics.js";
import type { LedRing } from "./led-ring.js";
import type { Quiet } from "./quiet.js";
import type { RoomBrightness } from "./room-brightness.js";

export interface ControlledPeripherals {
	/** Undefined in safe mode. */
	readonly audio: Pick<Audio, "volume" | "isMuted" | "chimeBusyReason" | "play" | "stop"> | undefined;
	readonly ring: Pick<
		LedRing,
		"isUpdating" | "preset" | "brightness" | "identify" | "showVolume" | "showLight"
	>;
	/** Undefined in safe mode, and if the model has none. */
	readonly haptics: Pick<Haptics, "intensity"> | undefined;
	/** Undefined in safe mode, and if the model has no light sensor. */
	readonly roomBrightness: Pick<RoomBrightness, "isOn"> | undefined;
	readonly quiet: Pick<Quiet, "set">;
}

export const controls = Object.freeze({
	features: Object.freeze(["identify", "light", "quiet", "mute"] as const),
	create: ({ peripherals }: { readonly peripherals: ControlledPeripherals }) => new Controls(peripherals),
});

export class Controls implements Component {
	readonly #peripherals: ControlledPeripherals;

	constructor(peripherals: ControlledPeripherals) {
		this.#peripherals = peripherals;
	}

	/** Returns undefined for a peripheral that is not in use, as in safe mode; `Commands` then rejects the command. */
	execute(command: Command): CommandOutcome {
		const { audio, ring, haptics, roomBrightness, quiet } = this.#peripherals;
		switch (command.command) {
			case "set_volume":
				if (!audio) return undefined;
				audio.volume = command.value;
				ring.showVolume(command.value);
				return "executed";
			case "set_mute":
				if (!audio) return undefined;
				audio.isMuted = command.value;
				ring.showVolume(audio.volume);
				return "executed";
			case "set_led":
				if (ring.isUpdating) return busy("the ring shows the update; try again after it");
				ring.preset(command.value);
				return "executed";
			case "play_audio":
				if (ring.isUpdating) return busy("the device is being updated; try again after it");
				if (!audio) return undefined;
				if (audio.chimeBusyReason) return busy(audio.chimeBusyReason);
				audio.play(command.value);
				return "executed";
			case "identify":
				if (ring.isUpdating) return busy("the ring shows the update; try again after it");
				ring.identify();
				if (!audio?.chimeBusyReason) audio?.play("startup");
				return "executed";
			case "set_light":
				if (ring.isUpdating) return busy("the ring shows the update; try again after it");
				ring.showLight(
					command.value ? lightOf(command.value) : undefined,
					(command.value?.seconds ?? 0) * 1000,
				);
				return "executed";
			case "set_auto_brightness":
				if (!roomBrightness) return undefined;
				roomBrightness.isOn = command.value;
				return "executed";
			case "set_quiet":
				quiet.set(command.value);
				return "executed";
			case "set_brightness":
				ring.brightness = command.value;
				return "executed";
			case "set_haptics":
				if (!haptics) return undefined;
				haptics.intensity = command.value;
				return "executed";
			default:
				return undefined;
		}
	}

	onUpdate(isRunning: boolean): void {
		const { audio, ring } = this.#peripherals;
		if (isRunning) audio?.stop();
		ring.isUpdating = isRunning;
	}
}

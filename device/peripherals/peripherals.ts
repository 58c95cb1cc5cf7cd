/** Creates the peripherals of this model with their stored settings; in safe mode only the ring and the buttons. */

import type { ButtonName, Host } from "../host.js";
import type { Settings } from "../settings.js";
import { AmbientLight } from "./ambient-light.js";
import { Audio } from "./audio.js";
import { Buttons } from "./buttons.js";
import { Haptics } from "./haptics.js";
import { LedRing } from "./led-ring.js";
import { Quiet } from "./quiet.js";
import { RoomBrightness } from "./room-brightness.js";
import { Touch } from "./touch.js";

export interface Peripherals {
	readonly ring: LedRing;
	readonly buttons: Buttons;
	readonly quiet: Quiet;
	/** This and the following are undefined in safe mode. */
	readonly audio: Audio | undefined;
	/** This and the following exist on the PROTO-1 only. */
	readonly haptics: Haptics | undefined;
	readonly light: AmbientLight | undefined;
	readonly roomBrightness: RoomBrightness | undefined;
	readonly touch: Touch | undefined;
}

export interface PeripheralsOptions {
	readonly parts: Host["peripheral"];
	readonly settings: Settings;
	readonly isSafeMode: boolean;
	/** Monotonic milliseconds. */
	readonly now: () => number;
	readonly onPressed: (name: ButtonName) => void;
	/** Called when a button was pressed or released. */
	readonly onButtons: () => void;
	/** Called when a reported value changed. */
	readonly onChanged: () => void;
}

export function createPeripherals(options: PeripheralsOptions): Peripherals {
	const { parts, settings, now, isSafeMode, onPressed, onButtons, onChanged } = options;
	const ring = new LedRing({
		part: parts.ledRing,
		now,
		brightness: settings.number("brightness", 0, 1, 0.5),
		onChanged: () => {
			settings.remember("brightness", ring.brightness);
			onChanged();
		},
	});
	const buttons = new Buttons({
		parts: parts.button,
		onPressed,
		onChanged() {
			onButtons();
			onChanged();
		},
	});
	const audio = isSafeMode ? undefined : createAudio(options);
	const quiet = new Quiet({
		settings,
		onLimits: (hours) => {
			ring.maxBrightness = hours?.brightness ?? 1;
			if (audio) audio.quiet = hours;
		},
		onChanged,
	});
	const used: Partial<Host["peripheral"]> = isSafeMode ? {} : parts;
	const haptics = used.haptics && new Haptics({ part: used.haptics, onChanged });
	const light = used.ambientLight && new AmbientLight({ part: used.ambientLight });
	const roomBrightness =
		light &&
		new RoomBrightness({
			light,
			ring,
			isOn: settings.number("auto_bright", 0, 1, 0) === 1,
			onChanged: () => {
				settings.remember("auto_bright", roomBrightness?.isOn ? 1 : 0);
				onChanged();
			},
		});
	return {
		ring,
		buttons,
		quiet,
		audio,
		haptics,
		light,
		roomBrightness,
		touch:
			used.touch &&
			new Touch({
				part: used.touch,
				onChanged: (isActive) => {
					if (isActive) haptics?.pulse();
					onChanged();
				},
			}),
	};
}

export interface AudioSetup extends Pick<PeripheralsOptions, "now" | "onChanged"> {
	readonly parts: Pick<Host["peripheral"], "audioOutput" | "codec">;
	readonly settings: Pick<Settings, "number" | "remember">;
}

/** Creates the player with its stored settings. */
export function createAudio({ parts, settings, now, onChanged }: AudioSetup): Audio {
	const audio: Audio = new Audio({
		output: parts.audioOutput,
		codec: parts.codec,
		now,
		// Math.floor, since XS's Math.round returns subnormal numbers unchanged.
		volume: Math.floor(settings.number("volume", 0, 100, 50)),
		audibleVolume: Math.floor(settings.number("audible", 1, 100, 50)),
		onChanged: () => {
			settings.remember("volume", audio.baseVolume);
			settings.remember("audible", audio.audibleVolume);
			onChanged();
		},
	});
	return audio;
}

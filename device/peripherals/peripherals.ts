/** Constructs the peripherals of this model, with their stored settings. */

import type { ButtonName, Host } from "../host.js";
import type { Settings } from "../settings.js";
import { AmbientLight } from "./ambient-light.js";
import { Audio } from "./audio.js";
import { Buttons } from "./buttons.js";
import { Haptics } from "./haptics.js";
import { LedRing } from "./led-ring.js";
import { Touch } from "./touch.js";

export interface Peripherals {
	readonly ring: LedRing;
	readonly audio: Audio;
	readonly buttons: Buttons;
	/** PROTO-1 only, as are the next two. */
	readonly haptics: Haptics | undefined;
	readonly light: AmbientLight | undefined;
	readonly touch: Touch | undefined;
}

export interface PeripheralsOptions {
	readonly parts: Host["peripheral"];
	readonly settings: Settings;
	/** Monotonic milliseconds. */
	readonly now: () => number;
	readonly onPressed: (name: ButtonName) => void;
	/** Something that a state report contains has changed. */
	readonly onChanged: () => void;
}

export function createPeripherals(options: PeripheralsOptions): Peripherals {
	const { parts, settings, now, onPressed, onChanged } = options;
	const ring = new LedRing({
		part: parts.ledRing,
		now,
		brightness: settings.number("brightness", 0, 1, 0.5),
		onChanged: () => {
			settings.remember("brightness", ring.brightness);
			onChanged();
		},
	});
	const audio = new Audio({
		output: parts.audioOutput,
		codec: parts.codec,
		now,
		// Math.floor, since XS's Math.round returns subnormal numbers as they are.
		volume: Math.floor(settings.number("volume", 0, 100, 50)),
		audibleVolume: Math.floor(settings.number("audible", 1, 100, 50)),
		onChanged: () => {
			settings.remember("volume", audio.volume);
			settings.remember("audible", audio.audibleVolume);
			onChanged();
		},
	});
	const haptics = parts.haptics && new Haptics({ part: parts.haptics, onChanged });
	return {
		ring,
		audio,
		haptics,
		light: parts.ambientLight && new AmbientLight({ part: parts.ambientLight }),
		touch:
			parts.touch &&
			new Touch({
				part: parts.touch,
				onChanged: (isActive) => {
					if (isActive) haptics?.pulse();
					onChanged();
				},
			}),
		buttons: new Buttons({ parts: parts.button, onPressed, onChanged }),
	};
}

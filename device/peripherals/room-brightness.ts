/** Dims the ring in a dark room by the light sensor, slowly, so that neither a hand nor a lamp makes it flicker. */

import Timer from "timer";
import type { AmbientLight } from "./ambient-light.js";
import type { LedRing } from "./led-ring.js";

const stepMs = 100;
/** Share of the remaining difference applied in a step: half of a change takes 2 s. */
const smoothing = 1 / 32;
/** Share of the brightness in darkness. */
const minDimming = 0.15;
/** Light level, of 4095, from which the ring has full brightness: a room in daylight. */
const brightLevel = 2048;
/** Smallest visible change of perceived brightness. */
const minVisibleChange = 0.01;

export interface RoomBrightnessOptions {
	readonly light: Pick<AmbientLight, "level">;
	readonly ring: Pick<LedRing, "dimming">;
	readonly isOn: boolean;
	readonly onChanged: () => void;
}

export class RoomBrightness {
	readonly #options: RoomBrightnessOptions;
	#timer: Timer | undefined;
	#dimming = 1;
	/** Value that the ring shows. */
	#shown = 1;

	constructor(options: RoomBrightnessOptions) {
		this.#options = options;
		if (options.isOn) this.#start();
	}

	get isOn(): boolean {
		return this.#timer !== undefined;
	}

	set isOn(isOn: boolean) {
		if (isOn === this.isOn) return;
		if (isOn) this.#start();
		else this.#stop();
		this.#options.onChanged();
	}

	#start(): void {
		this.#timer = Timer.repeat(() => this.#step(), stepMs);
	}

	#stop(): void {
		Timer.clear(this.#timer);
		this.#timer = undefined;
		this.#dimming = 1;
		this.#show();
	}

	#step(): void {
		const wanted = dimmingFor(this.#options.light.level);
		this.#dimming += (wanted - this.#dimming) * smoothing;
		if (Math.abs(this.#dimming - this.#shown) >= minVisibleChange) this.#show();
	}

	#show(): void {
		this.#shown = this.#dimming;
		this.#options.ring.dimming = this.#shown;
	}
}

/** @param level of the room's light, 0 to 4095 @returns share of the set brightness, 0.15 to 1 */
export function dimmingFor(level: number): number {
	return minDimming + (1 - minDimming) * Math.sqrt(Math.min(1, level / brightLevel));
}

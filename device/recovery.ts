/**
 * Factory reset: erases all settings when play and mute are held for 10 s, while the ring counts down. Both presses must
 * follow the start, since a button may be stuck.
 */

import Timer from "timer";
import type { ButtonName } from "./host.js";
import type { Buttons } from "./peripherals/buttons.js";
import type { LedRing } from "./peripherals/led-ring.js";

const holdMs = 10_000;

export interface RecoveryOptions {
	readonly ring: Pick<LedRing, "countDown" | "endCountdown">;
	/** Erases all settings and restarts. */
	readonly onErase: () => void;
}

export class Recovery {
	readonly #options: RecoveryOptions;
	#isPlayPressed = false;
	#isMutePressed = false;
	#timer: Timer | undefined;

	constructor(options: RecoveryOptions) {
		this.#options = options;
	}

	/** @returns whether play and mute are both held; then the press has no other effect */
	onPressed(name: ButtonName): boolean {
		if (name === "play") this.#isPlayPressed = true;
		if (name === "mute") this.#isMutePressed = true;
		if (!this.#isPlayPressed || !this.#isMutePressed) return false;
		if (!this.#timer) {
			this.#options.ring.countDown(holdMs);
			this.#timer = Timer.set(() => this.#options.onErase(), holdMs);
		}
		return true;
	}

	/** Cancels the countdown once a button is released. */
	onChanged({ btn_play, btn_mute }: Pick<Buttons["report"], "btn_play" | "btn_mute">): void {
		this.#isPlayPressed &&= btn_play;
		this.#isMutePressed &&= btn_mute;
		if (!this.#timer || (this.#isPlayPressed && this.#isMutePressed)) return;
		Timer.clear(this.#timer);
		this.#timer = undefined;
		this.#options.ring.endCountdown();
	}
}

/**
 * The four buttons, debounced: a level counts once it was stable for 20 ms. Inputs report edges only, so the initial
 * level is read.
 */

import Timer from "timer";
import { type ButtonName, buttonNames, type DigitalInput, type Host } from "../host.js";
import type { StateReport } from "../protocol/messages.js";

const debounceMs = 20;

export interface ButtonsOptions {
	readonly parts: Host["peripheral"]["button"];
	/** Not called for a button held at the start. */
	readonly onPressed: (name: ButtonName) => void;
	/** Called when a button was pressed or released. */
	readonly onChanged: () => void;
}

export class Buttons {
	readonly #pressed: Record<ButtonName, boolean> = {
		play: false,
		mute: false,
		volumeUp: false,
		volumeDown: false,
	};

	constructor(options: ButtonsOptions) {
		for (const name of buttonNames) this.#watch(name, options);
	}

	get report(): StateReport["peripherals"]["buttons"] {
		const pressed = this.#pressed;
		return {
			btn_play: pressed.play,
			btn_mute: pressed.mute,
			btn_vol_up: pressed.volumeUp,
			btn_vol_down: pressed.volumeDown,
		};
	}

	#watch(name: ButtonName, options: ButtonsOptions): void {
		const part = options.parts[name];
		let timer: Timer | undefined;
		const settle = () => {
			const triggers = !isHeldAtStart;
			isHeldAtStart = false;
			const isPressed = input.read() === 1;
			if (this.#pressed[name] === isPressed) return;
			this.#pressed[name] = isPressed;
			if (isPressed && triggers) options.onPressed(name);
			options.onChanged();
		};
		const debounce = () => {
			Timer.clear(timer);
			timer = Timer.set(settle, debounceMs);
		};
		const input: DigitalInput = new part({ onReadable: debounce });
		// A button held at the start is reported but triggers nothing.
		let isHeldAtStart = input.read() === 1;
		if (isHeldAtStart) debounce();
	}
}

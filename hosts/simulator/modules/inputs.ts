/** Buttons, light and touch, controlled on the panel. */

import type { PanelOptions } from "simulator/panel";
import type { AnalogInput, ButtonName, DigitalInput, TouchPad } from "../../../device/host.js";

export interface ButtonOptions extends PanelOptions {
	readonly name: ButtonName;
	/** Called when the level changes. Like the SDK's Digital, it is not called for a button held at startup. */
	readonly onReadable: () => void;
}

export class Button implements DigitalInput {
	#isPressed: boolean;
	#onReadable: (() => void) | undefined;

	constructor(options: ButtonOptions) {
		this.#isPressed = options.boot.pressed.includes(options.name);
		this.#onReadable = options.onReadable;
		options.panel.listen(({ button }) => {
			if (button?.name !== options.name) return;
			this.#isPressed = button.isPressed;
			this.#onReadable?.();
		});
	}

	read(): number {
		return this.#isPressed ? 1 : 0;
	}

	close(): void {
		this.#onReadable = undefined;
	}
}

/** 12-bit sensor, as on an ESP32-S3. */
export class LightSensor implements AnalogInput {
	#level: number;

	constructor(options: PanelOptions) {
		this.#level = options.boot.light;
		options.panel.listen(({ light }) => {
			if (light !== undefined) this.#level = light;
		});
	}

	get resolution(): number {
		return 12;
	}

	read(): number {
		return this.#level;
	}

	close(): void {}
}

/** Typical counts of an ESP32-S3 without and with a finger. */
const restingCount = 24_000;
const touchedCount = 33_000;

export class TouchSensor implements TouchPad {
	readonly threshold = 0.1;
	#isTouched: boolean;

	constructor(options: PanelOptions) {
		this.#isTouched = options.boot.isTouched;
		options.panel.listen(({ isTouched }) => {
			if (isTouched !== undefined) this.#isTouched = isTouched;
		});
	}

	read(): number {
		return this.#isTouched ? touchedCount : restingCount;
	}

	close(): void {}
}

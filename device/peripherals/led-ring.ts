/**
 * The LED ring: selects the state to show, and animates it. An update has priority over a command, and a command over the
 * connection's state until that state next changes. While the ring identifies the device it flashes white, and reports the state
 * that it returns to.
 */

import Timer from "timer";
import type { Host, PixelStrip } from "../host.js";
import type { LedPreset, StateReport } from "../protocol/messages.js";
import {
	frameIntervalMs,
	identifyFrameMs,
	type LedState,
	ledState,
	paint,
	paintIdentify,
	presetOfState,
	stateOfPreset,
} from "./led-patterns.js";

const identifyMs = 3_000;

export interface LedRingOptions {
	readonly part: Host["peripheral"]["ledRing"];
	/** Monotonic milliseconds. */
	readonly now: () => number;
	/** 0 to 1. */
	readonly brightness: number;
	/** State or brightness changed, or a preset was set. */
	readonly onChanged: () => void;
}

export class LedRing {
	readonly #strip: PixelStrip;
	readonly #now: () => number;
	readonly #onChanged: () => void;
	#connection: LedState = ledState.wifiConnecting;
	#command: LedState | undefined;
	#isUpdating = false;
	#brightness: number;

	#shown: LedState = ledState.wifiConnecting;
	#shownSinceMs: number;
	#frameTimer: Timer | undefined;
	/** Runs while the ring identifies the device. */
	#identifyTimer: Timer | undefined;
	#identifiesSinceMs = 0;

	constructor(options: LedRingOptions) {
		this.#strip = new options.part({});
		this.#now = options.now;
		this.#onChanged = options.onChanged;
		this.#brightness = options.brightness;
		this.#shownSinceMs = this.#now();
		this.#show();
	}

	get report(): StateReport["peripherals"]["led_ring"] {
		return {
			state_id: this.#shown,
			state_name: presetOfState[this.#shown] ?? "idle",
			brightness_coef: this.#brightness,
		};
	}

	/** Perceived, 0 to 1. */
	get brightness(): number {
		return this.#brightness;
	}

	set brightness(brightness: number) {
		if (this.#brightness === brightness) return;
		this.#brightness = brightness;
		this.#paintFrame();
		this.#onChanged();
	}

	/** The state of the connection; a change ends the priority of a command. */
	set connection(state: LedState) {
		if (this.#connection === state) return;
		this.#connection = state;
		this.#command = undefined;
		this.#choose();
	}

	/** Whether the ring shows an update. */
	set isUpdating(isUpdating: boolean) {
		this.#isUpdating = isUpdating;
		if (isUpdating) this.#endIdentify();
		this.#choose();
	}

	get isUpdating(): boolean {
		return this.#isUpdating;
	}

	/**
	 * Shows a preset until the connection's state next changes. It is reported even if it is shown already: every set_led is
	 * answered by a state report (interface specification, section 3.3).
	 */
	preset(preset: LedPreset): void {
		this.#command = stateOfPreset[preset];
		this.#choose();
		this.#onChanged();
	}

	/** Flashes white for 3 s. */
	identify(): void {
		Timer.clear(this.#identifyTimer);
		this.#identifyTimer = Timer.set(() => this.#endIdentify(), identifyMs);
		this.#identifiesSinceMs = this.#now();
		this.#show();
	}

	#endIdentify(): void {
		Timer.clear(this.#identifyTimer);
		this.#identifyTimer = undefined;
		this.#show();
	}

	#choose(): void {
		const state = this.#isUpdating ? ledState.updating : (this.#command ?? this.#connection);
		if (state === this.#shown) return;
		this.#shown = state;
		this.#shownSinceMs = this.#now();
		this.#show();
		this.#onChanged();
	}

	#show(): void {
		Timer.clear(this.#frameTimer);
		this.#frameTimer = undefined;
		const intervalMs = this.#identifyTimer ? identifyFrameMs : frameIntervalMs(this.#shown);
		if (intervalMs > 0) this.#frameTimer = Timer.repeat(() => this.#paintFrame(), intervalMs);
		this.#paintFrame();
	}

	#paintFrame(): void {
		if (this.#identifyTimer) paintIdentify(this.#strip, this.#now() - this.#identifiesSinceMs);
		else paint(this.#strip, this.#shown, this.#now() - this.#shownSinceMs, this.#brightness);
		this.#strip.update();
	}
}

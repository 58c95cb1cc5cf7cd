/**
 * The LED ring: selects the state to show and animates it. An update has priority over a command, and a command over
 * the connection's state until that next changes. An overlay covers the state, which is still reported.
 */

import Timer from "timer";
import type { Host, PixelStrip } from "../host.js";
import type { LedPreset, StateReport } from "../protocol/messages.js";
import {
	countdownOverlay,
	frameIntervalMs,
	identifyOverlay,
	type LedState,
	ledState,
	type Overlay,
	paint,
	presetOfState,
	refusedOverlay,
	stateOfPreset,
	unprovisionedOverlay,
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
	#overlay: Overlay | undefined;
	#overlaySinceMs = 0;
	#overlayMs = 0;
	/** Ends an overlay that is not the countdown's. */
	#overlayTimer: Timer | undefined;
	/** Covers the state while there is no other overlay, nor an update. */
	#standing: Overlay | undefined;

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
		if (this.#overlay !== countdownOverlay) this.#endOverlay();
		this.#choose();
	}

	get isUpdating(): boolean {
		return this.#isUpdating;
	}

	/**
	 * Shows a preset until the connection's state next changes. Always reported: every set_led is answered by a state
	 * report (specification, 3.3).
	 */
	preset(preset: LedPreset): void {
		this.#command = stateOfPreset[preset];
		this.#choose();
		this.#onChanged();
	}

	/** Flashes white for 3 s. The countdown goes on. */
	identify(): void {
		if (this.#overlay === countdownOverlay) return;
		this.#cover(identifyOverlay, identifyMs);
		this.#overlayTimer = Timer.set(() => this.#endOverlay(), identifyMs);
	}

	/** Permanent. */
	showUnprovisioned(): void {
		this.connection = ledState.off;
		this.#stand(unprovisionedOverlay);
	}

	/** Whether the gateway refuses the token. */
	set isRefused(isRefused: boolean) {
		this.#stand(isRefused ? refusedOverlay : undefined);
	}

	/** Shows how much is left of `ms`, above everything else, until endCountdown(). */
	countDown(ms: number): void {
		this.#cover(countdownOverlay, ms);
	}

	endCountdown(): void {
		if (this.#overlay === countdownOverlay) this.#endOverlay();
	}

	#cover(overlay: Overlay | undefined, ms: number): void {
		Timer.clear(this.#overlayTimer);
		this.#overlayTimer = undefined;
		this.#overlay = overlay;
		this.#overlaySinceMs = this.#now();
		this.#overlayMs = ms;
		this.#show();
	}

	#endOverlay(): void {
		this.#cover(this.#isUpdating ? undefined : this.#standing, 0);
	}

	#stand(overlay: Overlay | undefined): void {
		if (this.#standing === overlay) return;
		const previous = this.#standing;
		this.#standing = overlay;
		if (this.#overlay === previous) this.#endOverlay();
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
		const intervalMs = this.#overlay?.frameMs ?? frameIntervalMs(this.#shown);
		if (intervalMs > 0) this.#frameTimer = Timer.repeat(() => this.#paintFrame(), intervalMs);
		this.#paintFrame();
	}

	#paintFrame(): void {
		if (this.#overlay) this.#overlay.paint(this.#strip, this.#now() - this.#overlaySinceMs, this.#overlayMs);
		else paint(this.#strip, this.#shown, this.#now() - this.#shownSinceMs, this.#brightness);
		this.#strip.update();
	}
}

/**
 * LED ring: selects the state to show and animates it. An update has priority over a command, and a command over the
 * connection's state until that next changes. Overlays cover the state, which is still the reported one.
 */

import Timer from "timer";
import type { Host, PixelStrip } from "../host.js";
import type { CompleteReport, LedPreset, Light } from "../protocol/messages.js";
import {
	countdownOverlay,
	identifyOverlay,
	type LedPattern,
	type LedState,
	ledState,
	lightOverlay,
	patternOf,
	presetOfState,
	rejectedOverlay,
	soundOverlay,
	stateOfPreset,
	unprovisionedOverlay,
	volumeOverlay,
} from "./led-patterns.js";

const identifyMs = 3_000;
const volumeMs = 1_500;

/** Overlay ranks. A lower rank covers the others; only the countdown covers an update. */
const rank = Object.freeze({ countdown: 0, brief: 1, standing: 2, sound: 3, light: 4 } as const);
type Rank = (typeof rank)[keyof typeof rank];

interface Layer {
	readonly pattern: LedPattern;
	readonly sinceMs: number;
	/** Removes the overlay. */
	readonly timer?: Timer | undefined;
}

export interface LedRingOptions {
	readonly part: Host["peripheral"]["ledRing"];
	/** Monotonic milliseconds. */
	readonly now: () => number;
	/** 0 to 1. */
	readonly brightness: number;
	/** Called when the state, the light or the brightness changed, or a preset was set. */
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
	/** Pattern of the state, below all overlays. */
	#base: Layer;
	#frameTimer: Timer | undefined;
	/** Overlays, indexed by rank. */
	readonly #layers: (Layer | undefined)[] = [];
	#light: Light | undefined;
	/** Share of the brightness by the room's light, 0 to 1. */
	#dimming = 1;
	/** Limit by quiet hours, 0 to 1. */
	#maxBrightness = 1;

	constructor(options: LedRingOptions) {
		this.#strip = new options.part({});
		this.#now = options.now;
		this.#onChanged = options.onChanged;
		this.#brightness = options.brightness;
		this.#base = { pattern: patternOf(this.#shown), sinceMs: this.#now() };
		this.#show();
	}

	get report(): Omit<CompleteReport["peripherals"]["led_ring"], "auto_brightness"> {
		return {
			state_id: this.#shown,
			state_name: presetOfState[this.#shown] ?? "idle",
			brightness_coef: this.#brightness,
			light: this.#light,
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

	/** Share of the set brightness that is shown, 0 to 1; follows the room's light. */
	set dimming(dimming: number) {
		this.#dimming = dimming;
		this.#paintFrame();
	}

	/** Limit of the shown brightness, 0 to 1, in quiet hours. */
	set maxBrightness(limit: number) {
		if (this.#maxBrightness === limit) return;
		this.#maxBrightness = limit;
		this.#paintFrame();
	}

	/** State of the connection; a change ends the priority of a command. */
	set connection(state: LedState) {
		if (this.#connection === state) return;
		this.#connection = state;
		this.#command = undefined;
		this.#choose();
	}

	/** Whether the ring shows an update. */
	set isUpdating(isUpdating: boolean) {
		this.#isUpdating = isUpdating;
		this.#cover(rank.brief, undefined);
		this.#choose();
		// Even if the state is unchanged, overlays may differ.
		this.#show();
	}

	get isUpdating(): boolean {
		return this.#isUpdating;
	}

	/**
	 * Shows a preset until the connection's state next changes. Always triggers a report: every set_led is answered by
	 * one, even if nothing changes.
	 */
	preset(preset: LedPreset): void {
		this.#command = stateOfPreset[preset];
		this.#cover(rank.sound, undefined);
		this.#setLight(undefined, 0);
		this.#choose();
		this.#onChanged();
	}

	/** Flashes white for 3 s. */
	identify(): void {
		this.#cover(rank.brief, identifyOverlay, identifyMs);
	}

	/** Shows the volume for 1.5 s, unless `identify` is active. @param volume 0 to 100 */
	showVolume(volume: number): void {
		if (this.#layers[rank.brief]?.pattern === identifyOverlay) return;
		this.#cover(rank.brief, volumeOverlay(volume), volumeMs);
	}

	/** Whether a sound is being loaded or played. */
	set hasSound(hasSound: boolean) {
		this.#cover(rank.sound, hasSound ? soundOverlay : undefined);
	}

	/** @param light undefined: turns the light off @param ms duration; 0: unlimited */
	showLight(light: Light | undefined, ms: number): void {
		this.#setLight(light, ms);
		this.#onChanged();
	}

	/** Shows that the device has no settings, until isRejected is set. */
	showUnprovisioned(): void {
		this.connection = ledState.off;
		this.#cover(rank.standing, unprovisionedOverlay);
	}

	/** Whether the gateway rejects the token. */
	set isRejected(isRejected: boolean) {
		if (isRejected !== (this.#layers[rank.standing] !== undefined))
			this.#cover(rank.standing, isRejected ? rejectedOverlay : undefined);
	}

	/** Shows the rest of `ms` on top of everything else, until endCountdown(). */
	countDown(ms: number): void {
		this.#cover(rank.countdown, countdownOverlay(ms));
	}

	endCountdown(): void {
		this.#cover(rank.countdown, undefined);
	}

	/** Sets the overlay of a rank. @param overlay undefined: removes it @param ms duration; 0: unlimited */
	#cover(which: Rank, overlay: LedPattern | undefined, ms = 0, onEnd?: () => void): void {
		const previous = this.#layers[which];
		if (previous === undefined && overlay === undefined) return;
		Timer.clear(previous?.timer);
		const end = () => {
			this.#cover(which, undefined);
			onEnd?.();
		};
		this.#layers[which] = overlay && {
			pattern: overlay,
			sinceMs: this.#now(),
			timer: ms > 0 ? Timer.set(end, ms) : undefined,
		};
		this.#show();
	}

	#setLight(light: Light | undefined, ms: number): void {
		this.#light = light;
		this.#cover(rank.light, light && lightOverlay(light), ms, () => this.showLight(undefined, 0));
	}

	get #topLayer(): Layer {
		if (this.#isUpdating) return this.#layers[rank.countdown] ?? this.#base;
		// Allocates no function, since it runs for each frame.
		for (const layer of this.#layers) if (layer) return layer;
		return this.#base;
	}

	#choose(): void {
		const state = this.#isUpdating ? ledState.updating : (this.#command ?? this.#connection);
		if (state === this.#shown) return;
		this.#shown = state;
		this.#base = { pattern: patternOf(state), sinceMs: this.#now() };
		this.#show();
		this.#onChanged();
	}

	#show(): void {
		Timer.clear(this.#frameTimer);
		this.#frameTimer = undefined;
		const { frameMs } = this.#topLayer.pattern;
		if (frameMs > 0) this.#frameTimer = Timer.repeat(() => this.#paintFrame(), frameMs);
		this.#paintFrame();
	}

	#paintFrame(): void {
		const brightness = Math.min(this.#brightness * this.#dimming, this.#maxBrightness);
		const { pattern, sinceMs } = this.#topLayer;
		pattern.paint(this.#strip, this.#now() - sinceMs, brightness);
		this.#strip.update();
	}
}

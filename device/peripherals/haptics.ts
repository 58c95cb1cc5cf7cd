/**
 * Haptic motor of the PROTO-1. The intensity is the PWM's duty cycle in percent; a coin motor at rest needs about 25 to
 * start.
 */

import Timer from "timer";
import type { Host, PulseWidth } from "../host.js";

/** Long enough for a coin motor to slow down noticeably, short enough to feel like one tap. */
const pulseMs = 50;

export interface HapticsOptions {
	readonly part: NonNullable<Host["peripheral"]["haptics"]>;
	readonly onChanged: () => void;
}

export class Haptics {
	readonly #output: PulseWidth;
	readonly #onChanged: () => void;
	/** Not persistent: a motor that starts with the board can pull down the supply and restart it. */
	#intensity = 0;
	#pulseTimer: Timer | undefined;

	constructor(options: HapticsOptions) {
		this.#output = new options.part({});
		this.#onChanged = options.onChanged;
		this.#drive();
	}

	/** 0 (off) to 100. */
	get intensity(): number {
		return this.#intensity;
	}

	set intensity(intensity: number) {
		if (this.#intensity === intensity) return;
		this.#intensity = intensity;
		this.#endPulse();
		this.#onChanged();
	}

	/** Gives feedback to a touch: a short pause of the running motor. */
	pulse(): void {
		if (this.#intensity === 0) return;
		Timer.clear(this.#pulseTimer);
		this.#pulseTimer = Timer.set(() => this.#endPulse(), pulseMs);
		this.#drive();
	}

	#endPulse(): void {
		Timer.clear(this.#pulseTimer);
		this.#pulseTimer = undefined;
		this.#drive();
	}

	#drive(): void {
		const share = this.#pulseTimer ? 0 : this.#intensity / 100;
		this.#output.write(Math.round(share * (2 ** this.#output.resolution - 1)));
	}
}

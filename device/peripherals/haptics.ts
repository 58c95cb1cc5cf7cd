/** The haptic motor of the PROTO-1, on a curve that the motor feels: below a quarter of the power it does not turn. */

import Timer from "timer";
import type { Host, PulseWidth } from "../host.js";

/** The share of full power at which a coin motor starts to turn. */
const startingPower = 0.25;

/** Long enough for a coin motor to slow down, short enough to be one tap. */
const pulseMs = 50;

export interface HapticsOptions {
	readonly part: NonNullable<Host["peripheral"]["haptics"]>;
	readonly onChanged: () => void;
}

export class Haptics {
	readonly #output: PulseWidth;
	readonly #onChanged: () => void;
	/** Not remembered over a restart: a motor that starts with the board can pull its supply down, and restart it again. */
	#intensity = 0;
	/** Set while a pulse lasts. */
	#pulseTimer: Timer | undefined;

	constructor(options: HapticsOptions) {
		this.#output = new options.part({});
		this.#onChanged = options.onChanged;
		this.#drive();
	}

	/** 0 (off) to 100 (max). */
	get intensity(): number {
		return this.#intensity;
	}

	set intensity(intensity: number) {
		if (this.#intensity === intensity) return;
		this.#intensity = intensity;
		this.#endPulse();
		this.#onChanged();
	}

	/**
	 * One tap, as an answer to a touch, at the set intensity and none at 0. As the motor already runs at that intensity,
	 * the tap is a short pause: it is felt, and never needs more power than was set.
	 */
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
		const power = share === 0 ? 0 : startingPower + (1 - startingPower) * share;
		this.#output.write(Math.round(power * (2 ** this.#output.resolution - 1)));
	}
}

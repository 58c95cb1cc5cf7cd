/** The haptic motor of the PROTO-1, on a curve that the motor feels: below a quarter of the power it does not turn. */

import Timer from "timer";
import type { Host, PulseWidth } from "../host.js";

/** The share of full power at which a coin motor starts to turn. */
const startingPower = 0.25;

/** Long enough for a coin motor to reach its speed, short enough to be one tap. */
const pulseMs = 50;

export interface HapticsOptions {
	readonly part: NonNullable<Host["peripheral"]["haptics"]>;
	/** 0 (off) to 100 (max). */
	readonly intensity: number;
	readonly onChanged: () => void;
}

export class Haptics {
	readonly #output: PulseWidth;
	readonly #onChanged: () => void;
	#intensity: number;
	#pulseTimer: Timer | undefined;

	constructor(options: HapticsOptions) {
		this.#output = new options.part({});
		this.#onChanged = options.onChanged;
		this.#intensity = options.intensity;
		this.#drive();
	}

	/** 0 (off) to 100 (max). */
	get intensity(): number {
		return this.#intensity;
	}

	set intensity(intensity: number) {
		if (this.#intensity === intensity) return;
		this.#intensity = intensity;
		this.#drive();
		this.#onChanged();
	}

	/** One tap at full power, as an answer to a touch; the intensity stays what it is. */
	pulse(): void {
		Timer.clear(this.#pulseTimer);
		this.#pulseTimer = Timer.set(() => {
			this.#pulseTimer = undefined;
			this.#drive();
		}, pulseMs);
		this.#drive();
	}

	#drive(): void {
		const share = this.#pulseTimer ? 1 : this.#intensity / 100;
		const power = share === 0 ? 0 : startingPower + (1 - startingPower) * share;
		this.#output.write(Math.round(power * (2 ** this.#output.resolution - 1)));
	}
}

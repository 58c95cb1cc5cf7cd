/** A board's lights and motor, on the SDK's classes. */

import PWM from "embedded:io/pwm";
import NeoPixel from "neopixel";
import type { PixelStrip, PulseWidth } from "../../device/host.js";

export interface RingOptions {
	readonly pin: number;
	/** Pixels. */
	readonly length: number;
}

/** WS2812 pixels, driven as they are told: the SDK would dim them to a quarter. */
export class Ring extends NeoPixel implements PixelStrip {
	constructor(options: RingOptions) {
		super({ pin: options.pin, length: options.length, order: "GRB" });
		this.brightness = 255;
	}
}

/** Above hearing, and with 10 bits within what the timer can do (80 MHz / 1024). */
const motorHz = 20_000;

export interface MotorOptions {
	readonly pin: number;
}

export class Motor extends PWM implements PulseWidth {
	constructor(options: MotorOptions) {
		super({ pin: options.pin, hz: motorHz });
	}
}

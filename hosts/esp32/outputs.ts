/** A board's lights and motor, on the SDK's classes. */

import PWM from "embedded:io/pwm";
import NeoPixel from "neopixel";
import Timer from "timer";
import type { PixelStrip, PulseWidth } from "../../device/host.js";

export interface RingOptions {
	readonly pin: number;
	/** Pixels. */
	readonly length: number;
}

/** Two ticks of FreeRTOS, of which the first may be over at once. A frame of twelve pixels takes 0.36 ms. */
const frameMs = 2;

/**
 * WS2812 pixels, driven as they are told: the SDK would dim them to a quarter. And each frame is out before anything else
 * happens: the interrupt that refills RMT's 48 symbols, two pixels, cannot run while flash is written, and the rest of the
 * frame would be noise. (It cannot be made to: the SDK's encoder, which it calls, lies in flash.)
 */
export class Ring extends NeoPixel implements PixelStrip {
	constructor(options: RingOptions) {
		super({ pin: options.pin, length: options.length, order: "GRB" });
		this.brightness = 255;
	}

	override update(): void {
		super.update();
		Timer.delay(frameMs);
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

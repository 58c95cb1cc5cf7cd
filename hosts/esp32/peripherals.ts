/** Peripherals of the boards, based on the SDK's ECMA-419 classes except for the ring. The codec is in es8311.ts. */

import Analog from "embedded:io/analog";
import AudioOut from "embedded:io/audio/out";
import Digital from "embedded:io/digital";
import PWM from "embedded:io/pwm";
import { nativeFunctions } from "board/native";
import type {
	AnalogInput,
	AudioOutput as AudioOutputInterface,
	AudioOutputOptions,
	DigitalInput,
	PixelStrip,
	PulseWidth,
} from "../../device/host.js";
import type { ColorOrder } from "./pins.js";

/** Button between a pin and ground, with the chip's pull-up. */
export class PushButton extends Digital implements DigitalInput {
	constructor({ pin, onReadable }: { pin: number; onReadable: () => void }) {
		super({
			pin,
			mode: Digital.InputPullUp,
			activeLow: true,
			edge: Digital.Rising | Digital.Falling,
			onReadable,
		});
	}
}

/** Measures 0 to about 3.1 V as a raw 12-bit value; the SDK's calibrated values end at 2.45 V. */
export class LightSensor extends Analog implements AnalogInput {
	/** @param options.pin pin of ADC1 (GPIO 1 to 10 on the ESP32-S3); Wi-Fi uses ADC2 */
	constructor({ pin }: { pin: number }) {
		super({ pin, esp32: { calibrated: false, attenuation: 12 } });
	}
}

export interface RingOptions {
	readonly pin: number;
	/** Number of pixels, 1 to 64. */
	readonly length: number;
	readonly order?: ColorOrder | undefined;
}

/** Ring of WS2812 pixels (board-ring.c). Stays dark if the driver cannot be started. At most one instance may be open. */
export class Ring implements PixelStrip {
	readonly #ffi = nativeFunctions();
	readonly length: number;
	readonly #order: ColorOrder;

	/** @param options.order default: that of the WS2812 */
	constructor({ pin, length, order = "GRB" }: RingOptions) {
		this.length = length;
		this.#order = order;
		const error = this.#ffi.board_ring_open(pin, length);
		if (error !== 0) trace(`LED ring not started: ESP-IDF error 0x${error.toString(16)}\n`);
	}

	/** @returns the three bytes in the order in which they are sent */
	makeRGB(red: number, green: number, blue: number): number {
		const order = this.#order;
		return (
			(red << (16 - 8 * order.indexOf("R"))) |
			(green << (16 - 8 * order.indexOf("G"))) |
			(blue << (16 - 8 * order.indexOf("B")))
		);
	}

	setPixel(index: number, color: number): void {
		this.#ffi.board_ring_set(index, color);
	}

	update(): void {
		this.#ffi.board_ring_show();
	}

	close(): void {
		this.#ffi.board_ring_close();
	}
}

/** Inaudible, and possible with a resolution of 10 bits (80 MHz / 1024). */
const motorHz = 20_000;

export class Motor extends PWM implements PulseWidth {
	constructor({ pin }: { pin: number }) {
		super({ pin, hz: motorHz });
	}
}

export interface AmplifiedOutputOptions extends AudioOutputOptions {
	/** Enables the amplifier while high. */
	readonly amplifierPin: number;
	/** Startup time of the amplifier. */
	readonly leadInMs: number;
}

/**
 * I2S output with the amplifier behind the codec. The amplifier is enabled only while the output runs, because clocks that start and
 * stop would be audible and an idle amplifier hisses.
 */
export class AudioOutput implements AudioOutputInterface {
	readonly #output: AudioOut;
	readonly #amplifier: Digital;
	readonly leadInMs: number;

	constructor(options: AmplifiedOutputOptions) {
		const { amplifierPin, leadInMs, sampleRate, channels, bitsPerSample, onWritable } = options;
		this.leadInMs = leadInMs;
		this.#amplifier = new Digital({ pin: amplifierPin, mode: Digital.Output, initialValue: 0 });
		this.#output = new AudioOut({ sampleRate, channels, bitsPerSample, onWritable: () => onWritable() });
	}

	start(): void {
		this.#output.start();
		this.#amplifier.write(1);
	}

	stop(): void {
		this.#amplifier.write(0);
		this.#output.stop();
	}

	write(samples: Uint8Array): void {
		this.#output.write(samples);
	}

	close(): void {
		this.#amplifier.write(0);
		this.#amplifier.close();
		this.#output.close();
	}
}

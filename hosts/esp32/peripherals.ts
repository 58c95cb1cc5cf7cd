/** The boards' peripherals, all but the ring on the SDK's ECMA-419 classes. The codec is in es8311.ts. */

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

export interface PushButtonOptions {
	readonly pin: number;
	readonly onReadable: () => void;
}

/** Between its pin and ground, with the chip's pull-up. */
export class PushButton extends Digital implements DigitalInput {
	constructor(options: PushButtonOptions) {
		super({
			pin: options.pin,
			mode: Digital.InputPullUp,
			activeLow: true,
			edge: Digital.Rising | Digital.Falling,
			onReadable: options.onReadable,
		});
	}
}

export interface LightSensorOptions {
	/** Of ADC1 (GPIO 1 to 10 on the ESP32-S3): Wi-Fi needs ADC2. */
	readonly pin: number;
}

/** 0 to about 3.1 V as 12 raw bits; the SDK's calibrated values would end at 2.45 V. */
export class LightSensor extends Analog implements AnalogInput {
	constructor(options: LightSensorOptions) {
		super({ pin: options.pin, esp32: { calibrated: false, attenuation: 12 } });
	}
}

export interface RingOptions {
	readonly pin: number;
	/** Pixels, 1 to 64. */
	readonly length: number;
	/** Of colors; default "GRB". */
	readonly order?: string | undefined;
}

/** WS2812 pixels (board-ring.c). They stay dark if the driver cannot be started. There is one ring at a time. */
export class Ring implements PixelStrip {
	readonly #ffi = nativeFunctions();
	readonly length: number;

	constructor({ pin, length, order = "GRB" }: RingOptions) {
		this.length = length;
		const error = this.#ffi.board_ring_open(pin, length, order);
		if (error !== 0) trace(`LED ring: ESP-IDF error 0x${error.toString(16)}\n`);
	}

	makeRGB(red: number, green: number, blue: number): number {
		return (red << 16) | (green << 8) | blue;
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

/** Inaudible, and possible with 10 bits (80 MHz / 1024). */
const motorHz = 20_000;

export interface MotorOptions {
	readonly pin: number;
}

export class Motor extends PWM implements PulseWidth {
	constructor(options: MotorOptions) {
		super({ pin: options.pin, hz: motorHz });
	}
}

export interface AmplifiedOutputOptions extends AudioOutputOptions {
	/** Enables the amplifier while high. */
	readonly amplifierPin: number;
	/** What the amplifier needs before it plays. */
	readonly leadInMs: number;
}

/**
 * The I2S output and the amplifier behind the codec, which is on only while the output runs: clocks that start and stop would be
 * heard, and an idle device would hiss.
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

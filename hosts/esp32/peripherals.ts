/** The boards' peripherals, on the SDK's ECMA-419 classes. The codec is in es8311.ts. */

import Analog from "embedded:io/analog";
import AudioOut from "embedded:io/audio/out";
import Digital from "embedded:io/digital";
import PWM from "embedded:io/pwm";
import NeoPixel from "neopixel";
import Timer from "timer";
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
	/** Pixels. */
	readonly length: number;
	/** Of colours; default "GRB". */
	readonly order?: string | undefined;
}

/** Two ticks of FreeRTOS, of which the first may end immediately. A frame of twelve pixels takes 0.36 ms. */
const frameMs = 2;

/**
 * WS2812 pixels at full brightness; the SDK's default is a quarter. update() waits until the frame is sent: the interrupt that
 * refills RMT's 48 symbols (two pixels) is in flash and cannot run while flash is written, so the rest of the frame would be noise.
 */
export class Ring extends NeoPixel implements PixelStrip {
	constructor(options: RingOptions) {
		super({ pin: options.pin, length: options.length, order: options.order ?? "GRB" });
		this.brightness = 255;
	}

	override makeRGB(red: number, green: number, blue: number): number {
		return super.makeRGB(undimmed(red), undimmed(green), undimmed(blue));
	}

	override update(): void {
		super.update();
		Timer.delay(frameMs);
	}
}

/** The SDK sends (value * 255) >> 8, which is 1 less than the value: a dim ring would be dark. */
function undimmed(value: number): number {
	return value === 0 ? 0 : Math.min(255, value + 1);
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

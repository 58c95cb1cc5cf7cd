/** The simulated peripherals: each has the interface of Moddable's driver and exchanges its values with Node. */

import { type BusOptions, ES8311, type RegisterBus } from "board/es8311";
import type {
	AnalogInput,
	AudioOutput as AudioOutputInterface,
	AudioOutputOptions,
	DigitalInput,
	PixelStrip as PixelStripInterface,
	PulseWidth,
	TouchPad,
} from "../../../device/host.js";
import Channel from "./channel.js";

interface ButtonOptions {
	onReadable: () => void;
}

/** ECMA-419 `embedded:io/digital`. As with the SDK's driver, onReadable is called for edges only, not for the first level. */
class Button implements DigitalInput {
	readonly #channel: Channel;

	constructor(name: string, options: ButtonOptions) {
		this.#channel = new Channel("digital", { name }, () => options.onReadable());
	}

	read(): number {
		return this.#channel.call("level").detail === 1 ? 1 : 0;
	}

	close(): void {
		this.#channel.close();
	}
}

export class PlayButton extends Button {
	constructor(options: ButtonOptions) {
		super("play", options);
	}
}

export class MuteButton extends Button {
	constructor(options: ButtonOptions) {
		super("mute", options);
	}
}

export class VolumeUpButton extends Button {
	constructor(options: ButtonOptions) {
		super("volumeUp", options);
	}
}

export class VolumeDownButton extends Button {
	constructor(options: ButtonOptions) {
		super("volumeDown", options);
	}
}

/** A value that Node sets. */
class Sensor {
	readonly #channel: Channel;
	#value: number | undefined;

	constructor(kind: string, initial: number) {
		this.#value = initial;
		this.#channel = new Channel(kind, {}, (_event, value) => {
			this.#value = typeof value === "number" ? value : undefined;
		});
	}

	/** Undefined where it cannot be measured. */
	get value(): number | undefined {
		return this.#value;
	}

	close(): void {
		this.#channel.close();
	}
}

/** 12 bits, as on an ESP32-S3. */
export class LightSensor extends Sensor implements AnalogInput {
	constructor() {
		super("light", 1500);
	}

	get resolution(): number {
		return 12;
	}

	read(): number | undefined {
		return this.value;
	}
}

/** Starts with about what an ESP32-S3 counts on a pad without a finger. */
export class CapacitivePad extends Sensor implements TouchPad {
	constructor() {
		super("touch", 24_000);
	}

	read(): number {
		return this.value ?? 0;
	}
}

/** The LED ring: Moddable's `neopixel`. Node gets each frame as bytes: red, green and blue of each pixel. */
export class PixelStrip implements PixelStripInterface {
	readonly length: number;
	readonly #channel: Channel;
	readonly #frame: Uint8Array;

	constructor(length: number) {
		this.length = length;
		this.#channel = new Channel("pixels", { length }, () => {});
		this.#frame = new Uint8Array(length * 3);
	}

	makeRGB(red: number, green: number, blue: number): number {
		return (red << 16) | (green << 8) | blue;
	}

	setPixel(index: number, colour: number): void {
		this.#frame[index * 3] = colour >> 16;
		this.#frame[index * 3 + 1] = (colour >> 8) & 0xff;
		this.#frame[index * 3 + 2] = colour & 0xff;
	}

	update(): void {
		this.#channel.post("frame", undefined, this.#frame);
	}

	close(): void {
		this.#channel.close();
	}
}

/** The haptic motor: ECMA-419 `embedded:io/pwm` with the ten bits of Moddable's ESP32 driver. */
export class HapticMotor implements PulseWidth {
	readonly #channel = new Channel("haptics", {}, () => {});

	get resolution(): number {
		return 10;
	}

	write(value: number): void {
		if (value < 0 || value > 1023) throw new RangeError("invalid value");
		this.#channel.post("write", value);
	}

	close(): void {
		this.#channel.close();
	}
}

const audioQueueBytes = 5 * 4092;

/**
 * Moddable's `embedded:io/audio/out` as it behaves on ESP32: five blocks fit before `start`, which forgets what was counted;
 * only whole blocks are played; `stop` drops what is queued.
 */
export class AudioOutput implements AudioOutputInterface {
	readonly #channel: Channel;
	#writableBytes = audioQueueBytes;
	#isStarted = false;

	constructor(options: AudioOutputOptions) {
		const { sampleRate, channels, bitsPerSample } = options;
		this.#channel = new Channel("audio", { sampleRate, channels, bitsPerSample }, () => {});
	}

	write(samples: Uint8Array): void {
		if (samples.byteLength > this.#writableBytes) throw new Error("insufficient space");
		if (samples.byteLength & 1) throw new Error("full samples only");
		this.#writableBytes -= samples.byteLength;
		this.#channel.post("write", undefined, samples);
	}

	start(): void {
		if (this.#isStarted) return;
		this.#isStarted = true;
		this.#writableBytes = audioQueueBytes;
		this.#channel.post("start");
	}

	stop(): void {
		if (!this.#isStarted) return;
		this.#isStarted = false;
		this.#writableBytes = audioQueueBytes;
		this.#channel.post("stop");
	}

	close(): void {
		this.#channel.close();
	}
}

/** Moddable's `embedded:io/smbus`; the codec's registers are in Node. */
class SMBus implements RegisterBus {
	readonly #channel: Channel;

	constructor(options: BusOptions) {
		this.#channel = new Channel("smbus", { address: options.address }, () => {});
	}

	readUint8(register: number): number {
		return Number(this.#channel.call("read", { register }).detail);
	}

	writeUint8(register: number, value: number): void {
		this.#channel.call("write", { register, value });
	}

	close(): void {
		this.#channel.close();
	}
}

/** The boards' codec driver on that bus. */
export class Codec extends ES8311 {
	constructor() {
		super({ io: SMBus, data: 8, clock: 9 });
	}
}

/** The simulated peripherals: each has the interface of Moddable's driver and exchanges its values with Node. */

import { type BusOptions, ES8311, type RegisterBus } from "board/es8311";
import Timer from "timer";
import { uptime } from "virtual/natives";
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

	constructor(kind: string) {
		this.#channel = new Channel(kind, {}, (_event, value) => this.#take(value));
		this.#take(this.#channel.call("value").detail);
	}

	/** Undefined where it cannot be measured. */
	get value(): number | undefined {
		return this.#value;
	}

	close(): void {
		this.#channel.close();
	}

	#take(value: unknown): void {
		this.#value = typeof value === "number" ? value : undefined;
	}
}

/** 12 bits, as on an ESP32-S3. */
export class LightSensor extends Sensor implements AnalogInput {
	constructor() {
		super("light");
	}

	get resolution(): number {
		return 12;
	}

	read(): number | undefined {
		return this.value;
	}
}

export class CapacitivePad extends Sensor implements TouchPad {
	/** As on a board (hosts/proto-1/pins.ts). */
	readonly threshold = 0.015;

	constructor() {
		super("touch");
	}

	read(): number {
		return this.value ?? 0;
	}
}

/** The LED ring. Node gets each frame as bytes: red, green and blue of each pixel. */
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

const blockBytes = 4092;
const blocks = 6;
/** Of signed 16-bit samples, mono. */
const bytesPerSample = 2;

/**
 * Moddable's `embedded:io/audio/out` as it behaves on ESP32: of six blocks five fit before `start`; it plays a block after the
 * other in the time that they take, silence where there is none, and reports each; `stop` drops what is queued.
 */
export class AudioOutput implements AudioOutputInterface {
	readonly #channel: Channel;
	readonly #onWritable: () => void;
	readonly #blockMs: number;
	#writtenBytes = 0;
	#startedAtMs: number | undefined;
	#playedBlocks = 0;
	#timer: Timer | undefined;

	constructor(options: AudioOutputOptions) {
		const { sampleRate, channels, bitsPerSample, onWritable } = options;
		this.#channel = new Channel("audio", { sampleRate, channels, bitsPerSample }, () => {});
		this.#onWritable = onWritable;
		this.#blockMs = (blockBytes * 1000) / (sampleRate * bytesPerSample);
	}

	write(samples: Uint8Array): void {
		const fitting =
			this.#startedAtMs === undefined ? blocks - 1 : this.#blocksOver(this.#startedAtMs) + blocks;
		if (this.#writtenBytes + samples.byteLength > fitting * blockBytes) throw new Error("insufficient space");
		if (samples.byteLength & 1) throw new Error("full samples only");
		this.#writtenBytes += samples.byteLength;
		this.#channel.post("write", undefined, samples);
	}

	start(): void {
		if (this.#startedAtMs !== undefined) return;
		this.#startedAtMs = uptime();
		this.#channel.post("start");
		this.#awaitBlock();
	}

	stop(): void {
		if (this.#startedAtMs !== undefined) {
			const playedBlocks = (uptime() - this.#startedAtMs) / this.#blockMs;
			for (; this.#playedBlocks + 1 <= playedBlocks; this.#playedBlocks++)
				this.#channel.post("played", blockBytes);
			const partOfBlock = Math.max(0, playedBlocks - this.#playedBlocks);
			const samples = Math.floor(partOfBlock * (blockBytes / bytesPerSample));
			this.#channel.post("played", samples * bytesPerSample);
			this.#channel.post("stop");
		}
		Timer.clear(this.#timer);
		this.#timer = undefined;
		this.#startedAtMs = undefined;
		this.#writtenBytes = 0;
		this.#playedBlocks = 0;
	}

	close(): void {
		this.stop();
		this.#channel.close();
	}

	/** By the clock: on a busy computer the timer is late, and so may `stop` find blocks that no timer has reported. */
	#blocksOver(startedAtMs: number): number {
		return Math.max(this.#playedBlocks, Math.floor((uptime() - startedAtMs) / this.#blockMs));
	}

	#awaitBlock(): void {
		if (this.#startedAtMs === undefined) return;
		const dueMs = this.#startedAtMs + (this.#playedBlocks + 1) * this.#blockMs;
		this.#timer = Timer.set(() => this.#onBlock(), Math.max(0, Math.ceil(dueMs - uptime())));
	}

	#onBlock(): void {
		this.#playedBlocks += 1;
		this.#writtenBytes = Math.max(this.#writtenBytes, this.#playedBlocks * blockBytes);
		this.#channel.post("played", blockBytes);
		this.#awaitBlock();
		this.#onWritable();
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

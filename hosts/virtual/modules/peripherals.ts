/** The simulated peripherals: each has the interface of Moddable's driver and exchanges its values with Node. */

import { ES8311, type RegisterBus } from "board/es8311";
import Timer from "timer";
import type {
	AnalogInput,
	AudioOutput as AudioOutputInterface,
	AudioOutputOptions,
	ButtonName,
	ButtonPart,
	DigitalInput,
	PixelStrip as PixelStripInterface,
	PulseWidth,
	TouchPad,
} from "../../../device/host.js";
import type { InputName } from "../peripherals.js";
import Channel from "./channel.js";

/** A value that Node sets. */
class Input {
	readonly #channel: Channel<"input">;
	#value: number | undefined;

	constructor(name: InputName, onChanged = () => {}) {
		const value = (changed: number | null) => {
			this.#value = changed ?? undefined;
			onChanged();
		};
		this.#channel = new Channel("input", { name }, { value });
		this.#value = this.#channel.call("value");
	}

	/** Undefined where it cannot be measured. */
	get value(): number | undefined {
		return this.#value;
	}

	close(): void {
		this.#channel.close();
	}
}

/** ECMA-419 `embedded:io/digital`. As with the SDK's driver, onReadable is called for edges only, not for the first level. */
export function buttonOf(name: ButtonName): ButtonPart {
	return class extends Input implements DigitalInput {
		constructor({ onReadable }: { onReadable: () => void }) {
			super(name, () => onReadable());
		}

		read(): number {
			return this.value ?? 0;
		}
	};
}

/** 12 bits, as on an ESP32-S3. */
export class LightSensor extends Input implements AnalogInput {
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

export class CapacitivePad extends Input implements TouchPad {
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
	readonly #channel = new Channel("pixels", {}, {});
	readonly #frame: Uint8Array;

	constructor(length: number) {
		this.length = length;
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
	readonly #channel = new Channel("haptics", {}, {});

	get resolution(): number {
		return 10;
	}

	write(value: number): void {
		if (value < 0 || value > 1023) throw new RangeError("invalid value");
		this.#channel.post("duty", value);
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
	readonly #channel: Channel<"audio">;
	readonly #onWritable: () => void;
	readonly #blockMs: number;
	#writtenBytes = 0;
	#startedAtMs: number | undefined;
	#playedBlocks = 0;
	#timer: Timer | undefined;

	constructor(options: AudioOutputOptions) {
		const { sampleRate, onWritable } = options;
		this.#channel = new Channel("audio", { sampleRate }, {});
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
		this.#startedAtMs = natives.uptime();
		this.#channel.post("start");
		this.#awaitBlock();
	}

	stop(): void {
		if (this.#startedAtMs !== undefined) {
			const playedBlocks = (natives.uptime() - this.#startedAtMs) / this.#blockMs;
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
		return Math.max(this.#playedBlocks, Math.floor((natives.uptime() - startedAtMs) / this.#blockMs));
	}

	#awaitBlock(): void {
		if (this.#startedAtMs === undefined) return;
		const dueMs = this.#startedAtMs + (this.#playedBlocks + 1) * this.#blockMs;
		this.#timer = Timer.set(() => this.#onBlock(), Math.max(0, Math.ceil(dueMs - natives.uptime())));
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
	readonly #channel = new Channel("smbus", {}, {});

	readUint8(register: number): number {
		return this.#channel.call("read", register);
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

/** Simulated peripherals with the interfaces of Moddable's drivers; they exchange values with Node. */

import { ES8311, type RegisterBus } from "board/es8311";
import { SilentOutput } from "moddable/silent-output";
import type {
	AnalogInput,
	AudioOutputOptions,
	ButtonName,
	ButtonPart,
	DigitalInput,
	PixelStrip as PixelStripInterface,
	PulseWidth,
	SerialPort as SerialPortInterface,
	TouchPad,
} from "../../../device/host.js";
import type { InputName } from "../peripherals.js";
import Channel from "./channel.js";

/** Input value set by Node. */
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

	/** Undefined if it cannot be measured. */
	get value(): number | undefined {
		return this.#value;
	}

	close(): void {
		this.#channel.close();
	}
}

/** ECMA-419 `embedded:io/digital`. Like the SDK's driver, it calls onReadable for edges only, not for the initial level. */
function buttonOf(name: ButtonName): ButtonPart {
	return class extends Input implements DigitalInput {
		constructor({ onReadable }: { onReadable: () => void }) {
			super(name, onReadable);
		}

		read(): number {
			return this.value ?? 0;
		}
	};
}

/** Created while the module loads, to be in ROM. */
export const buttons: Readonly<Record<ButtonName, ButtonPart>> = {
	play: buttonOf("play"),
	mute: buttonOf("mute"),
	volumeUp: buttonOf("volumeUp"),
	volumeDown: buttonOf("volumeDown"),
};

/** 12-bit sensor, as on an ESP32-S3. */
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
	/** Value of hosts/proto-1/pins.ts. */
	readonly threshold = 0.015;

	constructor() {
		super("touch");
	}

	read(): number {
		return this.value ?? 0;
	}
}

/** LED ring. Sends each frame as bytes: red, green and blue of each pixel. */
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

	setPixel(index: number, color: number): void {
		this.#frame[index * 3] = color >> 16;
		this.#frame[index * 3 + 1] = (color >> 8) & 0xff;
		this.#frame[index * 3 + 2] = color & 0xff;
	}

	update(): void {
		this.#channel.post("frame", undefined, this.#frame);
	}
}

/** Haptic motor: ECMA-419 `embedded:io/pwm` with the 10-bit resolution of Moddable's ESP32 driver. */
export class HapticMotor implements PulseWidth {
	readonly #channel = new Channel("haptics", {}, {});

	get resolution(): number {
		return 10;
	}

	write(value: number): void {
		if (value < 0 || value > 1023) throw new RangeError("value must be 0 to 1023");
		this.#channel.post("duty", value);
	}

	close(): void {
		this.#channel.close();
	}
}

/** Speaker. Node plays the samples reported as played. */
export class AudioOutput extends SilentOutput {
	readonly #channel: Channel<"audio">;
	#isStarted = false;

	constructor(options: AudioOutputOptions) {
		super(options);
		this.#channel = new Channel("audio", { sampleRate: options.sampleRate }, {});
	}

	override write(samples: Uint8Array): void {
		super.write(samples);
		this.#channel.post("write", undefined, samples);
	}

	override start(): void {
		super.start();
		if (!this.#isStarted) this.#channel.post("start");
		this.#isStarted = true;
	}

	override stop(): void {
		super.stop();
		if (this.#isStarted) this.#channel.post("stop");
		this.#isStarted = false;
	}

	override close(): void {
		super.close();
		this.#channel.close();
	}

	protected override played(byteCount: number): void {
		if (byteCount > 0) this.#channel.post("played", byteCount);
	}
}

/** Serial port to a computer simulated by Node. Asks Node for bytes only after input, since the firmware polls. */
export class SerialPort implements SerialPortInterface {
	#hasInput = true;
	readonly #channel = new Channel(
		"serial",
		{},
		{
			received: () => {
				this.#hasInput = true;
			},
		},
	);

	read(buffer: Uint8Array): number {
		if (!this.#hasInput) return 0;
		const bytes = this.#channel.call("read", buffer.length);
		this.#hasInput = bytes !== undefined;
		if (bytes) buffer.set(bytes);
		return bytes?.length ?? 0;
	}

	write(bytes: Uint8Array): void {
		this.#channel.post("write", undefined, bytes);
	}

	close(): void {
		this.#channel.close();
	}
}

/** Moddable's `embedded:io/smbus`; Node has the codec's registers. */
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

/** Codec driver of the boards on the simulated bus. */
export class Codec extends ES8311 {
	constructor() {
		super({ io: SMBus, data: 8, clock: 9 });
	}
}

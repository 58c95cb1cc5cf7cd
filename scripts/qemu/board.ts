/** Board around the ESP32-S3 in QEMU: its inputs and outputs as JSON lines of the board model (hosts/qemu/model). */

import { closeSync, openSync, readSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Duplex } from "node:stream";
import { Board } from "../../hosts/virtual/node/board.js";
import type { InputName } from "../../hosts/virtual/peripherals.js";
import type { AllPins } from "../boards/pins.js";

/** Output of the board model. */
export interface BoardEvent {
	/** Bytes of the LEDs in wire order, in hex. */
	readonly ring?: string;
	/** Register and value written to the codec. */
	readonly codec?: readonly [number, number];
	readonly gpio?: number;
	readonly level?: 0 | 1;
	/** Whether the I2S transmitter runs. */
	readonly i2s?: boolean;
	/** Bytes in the file of samples when it starts. */
	readonly bytes?: number;
	/** LEDC channel and its duty cycle, 0 to 1. */
	readonly pwm?: number;
	readonly duty?: number;
}

const sampleRate = 16_000;
/** Interval of reading samples, in ms. */
const readMs = 100;

export interface EmulatedBoardOptions {
	/** Connected to the character device of the board model. */
	readonly stream: Duplex;
	readonly pins: AllPins;
	/** File to which QEMU appends samples; absent: the board's listeners hear nothing. */
	readonly samplesFile?: string;
	readonly onEvent?: (event: BoardEvent) => void;
}

export class EmulatedBoard extends Board {
	readonly #options: EmulatedBoardOptions;
	#stream: Duplex;
	#reading: NodeJS.Timeout | undefined;

	constructor(options: EmulatedBoardOptions) {
		super();
		this.#options = options;
		this.#stream = this.connect(options.stream);
	}

	/** Connects to the model of a QEMU that was started, and restores the sensors. */
	connect(stream: Duplex): Duplex {
		this.#stream = stream;
		const { ambientLight, touch } = this.#options.pins;
		if (ambientLight !== undefined) this.light = this.light;
		if (touch !== undefined) this.touchCount = this.touchCount;
		// QEMU may exit during a write.
		stream.on("error", () => {});
		createInterface(stream)
			.on("line", (line) => this.#onEvent(JSON.parse(line)))
			.on("close", () => this.#listenFrom(undefined));
		return stream;
	}

	override setInput(name: InputName, value: number | undefined): void {
		const { button, ambientLight, touch } = this.#options.pins;
		if (name === "light") {
			if (ambientLight === undefined) throw new Error("This board has no light sensor.");
			// On the ESP32-S3, channel 0 of ADC1 is GPIO 1.
			this.#send({ adc: ambientLight - 1, value });
		} else if (name === "touch") {
			if (touch === undefined) throw new Error("This board has no touch pad.");
			this.#send({ touch, value });
		} else this.#send({ gpio: button[name], level: value === 1 ? 0 : 1 });
		super.setInput(name, value);
	}

	override get accessPoints(): Board["accessPoints"] {
		return [];
	}

	override set accessPoints(_: Board["accessPoints"]) {
		throw new Error("The network of QEMU is wired.");
	}

	/** Whether the codec acknowledges its address. */
	set hasCodec(codec: boolean) {
		this.#send({ codec });
	}

	#send(line: Readonly<Record<string, unknown>>): void {
		this.#stream.write(`${JSON.stringify(line)}\n`);
	}

	#onEvent(event: BoardEvent): void {
		const { ring, codec, i2s, bytes } = event;
		if (ring !== undefined) this.show(this.#colorsOf(Buffer.from(ring, "hex")));
		if (codec) {
			this.codec.registers[codec[0]] = codec[1];
			this.notifyGain();
		}
		if (i2s !== undefined) this.#listenFrom(i2s ? bytes : undefined);
		this.#options.onEvent?.(event);
	}

	/** Red, green and blue of each LED. */
	#colorsOf(wire: Uint8Array): Uint8Array<ArrayBuffer> {
		const { ledOrder = "GRB" } = this.#options.pins;
		return Uint8Array.from(
			wire,
			(_, at) => wire[at - (at % 3) + ledOrder.indexOf("RGB".charAt(at % 3))] ?? 0,
		);
	}

	/** Plays the samples in the file from `position` on; undefined: stops. */
	#listenFrom(position: number | undefined): void {
		clearInterval(this.#reading);
		const { samplesFile } = this.#options;
		if (samplesFile === undefined) return;
		this.play(position === undefined ? undefined : { samples: new Uint8Array(0), sampleRate });
		let at = position ?? 0;
		if (position === undefined) return;
		this.#reading = setInterval(() => {
			const samples = readFrom(samplesFile, at);
			at += samples.length;
			if (samples.length > 0) this.queue(samples);
		}, readMs);
	}
}

/** Reads at most a second of samples. */
function readFrom(file: string, position: number): Uint8Array {
	const samples = Buffer.alloc(2 * sampleRate);
	const descriptor = openSync(file, "r");
	try {
		return samples.subarray(0, readSync(descriptor, samples, 0, samples.length, position));
	} finally {
		closeSync(descriptor);
	}
}

/** Board around the ESP32-S3 in QEMU: its inputs and outputs as JSON lines of the board model (hosts/qemu/model). */

import { createInterface } from "node:readline";
import type { Duplex } from "node:stream";
import type { ButtonName } from "../../device/host.js";
import type { Model } from "../../device/protocol/models.js";
import { pins as dev1 } from "../../hosts/dev-1/pins.js";
import type { BoardPins, Proto1Pins } from "../../hosts/esp32/pins.js";
import { pins as proto1 } from "../../hosts/proto-1/pins.js";
import type { InputBoard } from "../../hosts/virtual/node/input.js";

export function pinsOf(model: Model): EmulatedBoardOptions["pins"] {
	return model === "PROTO-1" ? proto1 : dev1;
}

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
	/** LEDC channel and its duty cycle, 0 to 1. */
	readonly pwm?: number;
	readonly duty?: number;
}

/** Counts of an untouched and a touched pad. */
const untouched = 20_000;
const touched = 26_000;

export interface EmulatedBoardOptions {
	/** Connected to the character device of the board model. */
	readonly stream: Duplex;
	readonly pins: BoardPins & Partial<Proto1Pins>;
	readonly onEvent: (event: BoardEvent) => void;
}

export class EmulatedBoard implements InputBoard {
	readonly #stream: Duplex;
	readonly #pins: EmulatedBoardOptions["pins"];

	constructor({ stream, pins, onEvent }: EmulatedBoardOptions) {
		this.#stream = stream;
		this.#pins = pins;
		// QEMU may exit during a write.
		stream.on("error", () => {});
		createInterface(stream).on("line", (line) => onEvent(JSON.parse(line)));
	}

	setButton(name: ButtonName, isPressed: boolean): void {
		this.#send({ gpio: this.#pins.button[name], level: isPressed ? 0 : 1 });
	}

	/** @param value of the ADC, 0 to 4095 */
	set light(value: number | undefined) {
		const { ambientLight } = this.#pins;
		if (ambientLight === undefined) throw new Error("This board has no light sensor.");
		// On the ESP32-S3, channel 0 of ADC1 is GPIO 1.
		this.#send({ adc: ambientLight - 1, value });
	}

	set isTouched(isTouched: boolean) {
		const { touch } = this.#pins;
		if (touch === undefined) throw new Error("This board has no touch pad.");
		this.#send({ touch, value: isTouched ? touched : untouched });
	}

	/** Whether the codec acknowledges its address. */
	set hasCodec(codec: boolean) {
		this.#send({ codec });
	}

	#send(line: Readonly<Record<string, unknown>>): void {
		this.#stream.write(`${JSON.stringify(line)}\n`);
	}
}

/** Peripherals of a DEV-1: buttons on the serial port and stubs. The codec is ready, which confirming a new image requires. */

import { nativeFunctions } from "board/native";
import { ConsolePort } from "board/serial";
import { boardModels } from "protocol/models";
import Timer from "timer";
import type { ButtonPart, Codec, DigitalInput, PixelStrip } from "../../device/host.js";

const pollMs = 50;

interface ConsoleButtonOptions {
	/** Bit of the button in console-buttons.c. */
	readonly bit: number;
	readonly onReadable: () => void;
}

class ConsoleButton implements DigitalInput {
	readonly #ffi = nativeFunctions();
	readonly #bit: number;
	readonly #timer: Timer;
	#level: number;

	constructor({ bit, onReadable }: ConsoleButtonOptions) {
		this.#bit = bit;
		this.#level = this.read();
		this.#timer = Timer.repeat(() => {
			const level = this.read();
			if (level === this.#level) return;
			this.#level = level;
			onReadable();
		}, pollMs);
	}

	read(): number {
		return (this.#ffi.qemu_buttons() >> this.#bit) & 1;
	}

	close(): void {
		Timer.clear(this.#timer);
	}
}

export function buttonAt(position: number): ButtonPart {
	const bit = position;
	return class extends ConsoleButton {
		constructor(options: { onReadable: () => void }) {
			super({ bit, onReadable: options.onReadable });
		}
	};
}

/** Serial port shared with the buttons, which read the same bytes. */
export class SharedPort extends ConsolePort {
	override read({ buffer, byteOffset, length }: Uint8Array<ArrayBuffer>): number {
		return nativeFunctions().qemu_serial_read(buffer, byteOffset, length);
	}
}

export class Ring implements PixelStrip {
	readonly length = boardModels["DEV-1"].pixels;

	makeRGB(red: number, green: number, blue: number): number {
		return (red << 16) | (green << 8) | blue;
	}

	setPixel(): void {}

	update(): void {}

	close(): void {}
}

export class SilentCodec implements Codec {
	readonly isReady = true;
	volume = 0;
	isMuted = true;

	check(): void {}

	close(): void {}
}

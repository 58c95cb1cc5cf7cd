/** Capacitive pad of the ESP32-S3 (board-touch.c). Reads 0 if the controller cannot be started. */

import { nativeFunctions } from "board/native";
import type { TouchPad as Interface } from "../../../device/host.js";

export interface TouchPadOptions {
	/** GPIO 1 to 14, on this chip equal to the touch channel. */
	readonly pin: number;
	/** See device/host.ts. */
	readonly threshold: number;
}

export class TouchPad implements Interface {
	readonly #ffi = nativeFunctions();
	readonly threshold: number;

	constructor(options: TouchPadOptions) {
		this.threshold = options.threshold;
		const error = this.#ffi.board_touch_open(options.pin);
		if (error !== 0) trace(`touch pad not started: ESP-IDF error 0x${error.toString(16)}\n`);
	}

	read(): number {
		return this.#ffi.board_touch_read();
	}

	close(): void {
		this.#ffi.board_touch_close();
	}
}

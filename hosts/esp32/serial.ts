/** Serial console: the chip's USB port on boards, UART0 in QEMU. */

import { nativeFunctions } from "board/native";
import type { SerialPort } from "../../device/host.js";

export class ConsolePort implements SerialPort {
	readonly #ffi = nativeFunctions();

	read({ buffer, byteOffset, length }: Uint8Array<ArrayBuffer>): number {
		return this.#ffi.board_serial_read(buffer, byteOffset, length);
	}

	write(bytes: Uint8Array): void {
		this.#ffi.board_serial_write(bytes.slice().buffer, bytes.length);
	}

	close(): void {}
}

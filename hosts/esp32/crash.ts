/** Last crash and last traced lines, in RTC memory (board-crash.c). */

import { nativeFunctions } from "board/native";
import { locationIn } from "moddable/abort-report";
import type { CrashMemory as CrashInterface, TraceMemory as TraceInterface } from "../../device/host.js";

/** Values of the parameter of board_crash_text(). */
const field = Object.freeze({ id: 0, kind: 1, message: 2, stack: 3, version: 4, trace: 5 });

export class CrashMemory implements CrashInterface {
	readonly #ffi = nativeFunctions();

	read(): unknown {
		const ffi = this.#ffi;
		const id = ffi.board_crash_text(field.id);
		if (id === "") return undefined;
		const stack = ffi.board_crash_text(field.stack);
		return {
			id,
			kind: ffi.board_crash_text(field.kind),
			message: ffi.board_crash_text(field.message),
			...locationIn(stack),
			stack,
			firmware_version: ffi.board_crash_text(field.version),
			uptime_seconds: ffi.board_crash_uptime(),
			trace: ffi.board_crash_text(field.trace),
		};
	}

	clear(): void {
		this.#ffi.board_crash_clear();
	}
}

export class TraceMemory implements TraceInterface {
	readonly #ffi = nativeFunctions();

	get lineCount(): number {
		return this.#ffi.board_trace_line_count();
	}

	read(count: number): string {
		return this.#ffi.board_trace_read(count);
	}
}

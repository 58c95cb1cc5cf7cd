/**
 * Runs before the firmware's main: keeps how the previous run ended, keeps what is traced, says what starts on which chip and why,
 * and reports aborts.
 */

import { SystemFacts } from "board/system";
import FFI from "mc/ffi";
import type { CrashKind } from "../../device/protocol/messages.js";

export default function setup(done: () => void): void {
	const ffi = new FFI();
	ffi.board_crash_start();
	keepTrace((text) => ffi.board_trace(text));
	reportAborts({
		note: (kind, message, stack) => ffi.board_crash_note(kind, message, stack),
		print: (text) => ffi.board_print(text),
		drain: () => ffi.board_drain_console(),
	});
	const facts = new SystemFacts();
	trace(
		`${facts.compiledModel} ${facts.firmwareVersion}, ESP-IDF ${facts.idfVersion}, ${facts.flashSizeMB} MB flash, ` +
			`${facts.psramSizeMB} MB PSRAM, ${facts.resetReason}\n`,
	);
	done();
}

/** Makes the global `trace` keep its texts in memory: a release build of XS only drops them. */
function keepTrace(keep: (text: string) => void): void {
	const print = trace;
	const kept = (...values: unknown[]): void => {
		for (const value of values) {
			const text = String(value);
			print(text);
			keep(text);
		}
	};
	Object.assign(globalThis, { trace: kept });
}

interface AbortReportOptions {
	/** Keeps the reason over the restart. */
	readonly note: (kind: CrashKind, message: string, stack: string) => void;
	readonly print: (text: string) => void;
	readonly drain: () => void;
}

/**
 * Prints why the firmware ends, in release builds too. XS itself prints nothing before it restarts the chip, but calls the global
 * function `abort` (xs/platforms/esp/xsPlatform.c, with the define xs.abortHook).
 */
function reportAborts({ note, print, drain }: AbortReportOptions): void {
	let isReporting = false;
	// Returns undefined: after false the firmware would continue in an unknown state.
	const abort = (kind: string, exception?: unknown): void => {
		// Describing the exception may abort too if the heap is full.
		if (isReporting) return;
		isReporting = true;
		// What needs no memory comes first.
		note(crashKind(kind), kind, "");
		print("\nXS abort: ");
		print(kind);
		try {
			if (exception !== undefined) {
				const { message, stack } = describe(exception);
				note(crashKind(kind), message, stack);
				print(`: ${message}${stack && `, ${stack}`}`.replaceAll("\n", ", "));
			}
		} finally {
			print("\n");
			drain();
		}
	};
	Object.assign(globalThis, { abort });
}

/** @param kind as XS names it (xsError.c, gXSAbortStrings) */
function crashKind(kind: string): CrashKind {
	switch (kind) {
		case "memory full":
		case "not enough keys":
			return "out_of_memory";
		case "unhandled rejection":
			return "rejection";
		default:
			return "exception";
	}
}

function describe(exception: unknown): { message: string; stack: string } {
	const message = String(exception);
	const stack = exception instanceof Error ? (exception.stack ?? "") : "";
	// XS begins the stack with the message.
	const frames = stack.startsWith(message) ? stack.slice(message.length) : stack;
	return { message, stack: frames.replace(/^\n ?/, "").replaceAll("\n ", "\n") };
}

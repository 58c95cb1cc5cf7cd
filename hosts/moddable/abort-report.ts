/**
 * Reports why the firmware ends: XS calls the global function `abort` first, also in release builds with the define
 * xs.abortHook (xs/platforms/esp/xsPlatform.c, build/simulators/modules/screen.c).
 */

import type { CrashKind } from "../../device/protocol/messages.js";

const longestFile = 128;

/** XS calls no hook for it. */
export const stackOverflow = "JavaScript stack overflow";

export interface AbortReportOptions {
	/** Keeps the reason over the restart. */
	readonly note: (kind: CrashKind, message: string, stack: string) => void;
	readonly print: (text: string) => void;
	readonly drain: () => void;
}

export function reportAborts({ note, print, drain }: AbortReportOptions): void {
	let isReporting = false;
	// Undefined: after false the firmware would continue in an unknown state.
	const abort = (kind: string, exception?: unknown): void => {
		// On a full heap, describing the exception may abort too.
		if (isReporting) return;
		isReporting = true;
		// First what needs no memory.
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
export function crashKind(kind: string): CrashKind {
	switch (kind) {
		case "memory full":
		case "not enough keys":
		case stackOverflow:
			return "out_of_memory";
		case "too much computation":
			return "watchdog";
		case "unhandled rejection":
			return "rejection";
		default:
			return "exception";
	}
}

export function describe(exception: unknown): { message: string; stack: string } {
	const message = String(exception);
	const stack = exception instanceof Error ? (exception.stack ?? "") : "";
	// XS begins the stack with the message.
	const frames = stack.startsWith(message) ? stack.slice(message.length) : stack;
	return { message, stack: frames.replace(/^\n ?/, "").replaceAll("\n ", "\n") };
}

/** Only XS's debug build knows files and lines; otherwise a stack has names of functions. */
export function placeIn(stack: string): { file: string; line: number } | undefined {
	const [, file, line] = /\(([^()\n]+):(\d+)\)/.exec(stack) ?? [];
	return file === undefined ? undefined : { file: file.slice(-longestFile), line: Number(line) };
}

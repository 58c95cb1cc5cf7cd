/**
 * Reports the reason of an XS abort. XS first calls the global function `abort`, also in release builds with the define xs.abortHook
 * (xs/platforms/esp/xsPlatform.c, build/simulators/modules/screen.c).
 */

import type { CrashKind } from "../../device/protocol/messages.js";

const longestFile = 128;

/** Abort reason for which XS does not call the hook. */
export const stackOverflow = "JavaScript stack overflow";

export interface AbortReportOptions {
	/** Records the reason in memory that survives the restart. */
	readonly note: (kind: CrashKind, message: string, stack: string) => void;
	readonly print: (text: string) => void;
	readonly drain: () => void;
}

export function reportAborts({ note, print, drain }: AbortReportOptions): void {
	let isReporting = false;
	// Must not return false, after which the firmware would continue in an undefined state.
	const abort = (kind: string, exception?: unknown): void => {
		// Describing the exception may abort again if the heap is full.
		if (isReporting) return;
		isReporting = true;
		// Requires no memory, unlike the following steps.
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

/** @param kind XS abort reason (xsError.c, gXSAbortStrings) */
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
	// In XS the stack starts with the message.
	const frames = stack.startsWith(message) ? stack.slice(message.length) : stack;
	return { message, stack: frames.replace(/^\n ?/, "").replaceAll("\n ", "\n") };
}

/** Returns the source location. Only debug builds of XS provide it; release builds have function names only. */
export function locationIn(stack: string): { file: string; line: number } | undefined {
	const [, file, line] = /\(([^()\n]+):(\d+)\)/.exec(stack) ?? [];
	return file === undefined ? undefined : { file: file.slice(-longestFile), line: Number(line) };
}

/** Runs before the firmware's main: prints what starts on which chip and why (not in release builds), and reports aborts. */

import { SystemFacts } from "board/system";
import FFI from "mc/ffi";

export default function setup(done: () => void): void {
	const ffi = new FFI();
	reportAborts({
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

interface AbortReportOptions {
	readonly print: (text: string) => void;
	readonly drain: () => void;
}

/**
 * Prints why the firmware ends, in release builds too. XS itself prints nothing before it restarts the chip, but calls the global
 * function `abort` (xs/platforms/esp/xsPlatform.c, with the define xs.abortHook).
 */
function reportAborts({ print, drain }: AbortReportOptions): void {
	let isReporting = false;
	// Returns undefined: after false the firmware would continue in an unknown state.
	const abort = (kind: string, exception?: unknown): void => {
		// Describing the exception may abort too if the heap is full.
		if (isReporting) return;
		isReporting = true;
		// Needs no memory.
		print("\nXS abort: ");
		print(kind);
		try {
			if (exception !== undefined) print(describe(exception));
		} finally {
			print("\n");
			drain();
		}
	};
	Object.assign(globalThis, { abort });
}

function describe(exception: unknown): string {
	const text = exception instanceof Error ? (exception.stack ?? String(exception)) : String(exception);
	return `: ${text.replaceAll("\n", ",")}`;
}

/**
 * Prints why the firmware ends, in release builds too. Before XS restarts the chip, for an exception that nothing caught or
 * for want of memory, it calls the global function `abort` (xs/platforms/esp/xsPlatform.c, with the define xs.abortHook),
 * and prints nothing itself.
 */

export interface AbortReportOptions {
	/** Prints a piece of a line. */
	readonly print: (text: string) => void;
	/** Waits until what was printed has left the chip. */
	readonly drain: () => void;
}

/** From now on the end of the firmware is one line: its kind, the exception, and the functions in which it was thrown. */
export function reportAborts({ print, drain }: AbortReportOptions): void {
	let isReporting = false;
	/** Undefined as its result: the restart goes on. With false the firmware would, in an unknown state. */
	const abort = (kind: string, exception?: unknown): void => {
		// Where memory is full, describing the exception may abort as well.
		if (isReporting) return;
		isReporting = true;
		// In pieces: what needs no memory is printed first.
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

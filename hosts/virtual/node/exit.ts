/** Exit reason of a machine's process, and its location in the firmware. */

/** Kind by exit status: `enum reason` in machine.h, and 17 for a crash of native code. */
const kinds = {
	0: "quit",
	10: "exception",
	11: "rejection",
	12: "out_of_memory",
	13: "watchdog",
	14: "restart",
	15: "bad_program",
	17: "panic",
} as const;
type Kind = (typeof kinds)[keyof typeof kinds];
const kindOf: Readonly<Record<number, Kind>> = kinds;

export interface Exit {
	/**
	 * quit: powered off, also by close(). restart: requested by the firmware. exception: uncaught. rejection: unhandled at the end of the
	 * turn. out_of_memory: see message. watchdog: a turn exceeded the limit. bad_program: the program cannot be loaded. panic: crash of
	 * native code. killed: from outside, see message.
	 */
	kind: Kind | "killed";
	message: string;
	/** Undefined if a signal ended the process, as close() does. */
	status: number | undefined;
	/** TypeScript file, relative to the project. */
	file: string | undefined;
	/** Line number, from 1. */
	line: number | undefined;
	/** Lines of "at function (file:line)", innermost first. */
	stack: string;
}

export const noLocation = {
	status: undefined,
	file: undefined,
	line: undefined,
	stack: "",
} as const;

/** Formats an exit as one line. */
export function describeExit(exit: Exit): string {
	const location = exit.file === undefined ? "" : ` (${exit.file}:${exit.line})`;
	return `${exit.kind}: ${exit.message}${location}`;
}

/**
 * Decodes an exit frame.
 *
 * @param reason channel of the frame @param message header of the frame @param stack payload of the frame
 */
export function exitFrom(reason: number, message: string, stack: string): Exit {
	// Prefers a location in the firmware to one in a host module that it called.
	const locations = [...stack.matchAll(/([^\s()]+):(\d+)\)?$/gm)];
	const location = locations.find(([, file]) => !file?.startsWith("hosts/virtual/modules/")) ?? locations[0];
	return {
		kind: kindOf[reason] ?? "killed",
		message,
		status: reason,
		file: location?.[1],
		line: location ? Number(location[2]) : undefined,
		stack,
	};
}

const faults: readonly (string | null)[] = ["SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT"];

/** Creates the exit of a process that sent no exit frame. */
export function exitWithoutReport(status: number | null, signal: string | null): Exit {
	const message = `the process exited with ${signal ?? `status ${status}`}`;
	if (faults.includes(signal)) return { ...noLocation, kind: "panic", message, status: 17 };
	return { ...noLocation, kind: "killed", message, status: status ?? undefined };
}

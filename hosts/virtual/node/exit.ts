/** How a machine's process ended, and where in the firmware. */

/** By kind of end; `enum reason` in machine.h, and 17. */
const exitStatus = {
	quit: 0,
	exception: 10,
	rejection: 11,
	out_of_memory: 12,
	watchdog: 13,
	restart: 14,
	bad_program: 15,
	panic: 17,
} as const;

export interface Exit {
	/**
	 * quit: switched off, also by close(). restart: by the firmware. exception: uncaught. rejection: unhandled at the end of the
	 * turn. out_of_memory: see pool. watchdog: a turn did not end. bad_program: it cannot be loaded. panic: a fault in C. killed:
	 * from outside, see message.
	 */
	kind: keyof typeof exitStatus | "killed";
	message: string;
	/** Undefined if a signal ended the process, as close() does. */
	status: number | undefined;
	/** Of out_of_memory: "chunk", "slot", "stack" or "keys" of the device; "host": this computer's. */
	pool: string | undefined;
	/** TypeScript, relative to the project. */
	file: string | undefined;
	/** From 1. */
	line: number | undefined;
	/** Lines of "at function (file:line)", innermost first. */
	stack: string;
}

export const noPlace = {
	status: undefined,
	pool: undefined,
	file: undefined,
	line: undefined,
	stack: "",
} as const;

/** One line. */
export function describeExit(exit: Exit): string {
	const place = exit.file === undefined ? "" : ` (${exit.file}:${exit.line})`;
	return `${exit.kind}: ${exit.message}${place}`;
}

/** @param header of an exit frame, JSON */
export function exitFrom(header: string): Exit {
	const exit: { kind: keyof typeof exitStatus; message: string; pool?: string; stack?: string } =
		JSON.parse(header);
	const stack = exit.stack ?? "";
	// In the firmware, rather than in a module of the host that it called.
	const places = [...stack.matchAll(/([^\s()]+):(\d+)\)?$/gm)];
	const place = places.find(([, file]) => !file?.startsWith("hosts/virtual/modules/")) ?? places[0];
	return {
		kind: exit.kind,
		message: exit.message,
		status: exitStatus[exit.kind],
		pool: exit.pool,
		file: place?.[1],
		line: place ? Number(place[2]) : undefined,
		stack,
	};
}

const faults: readonly (string | null)[] = ["SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT"];

/** Of a process that has sent no exit frame. */
export function exitWithoutReport(status: number | null, signal: string | null): Exit {
	const message = `the process ended with ${signal ?? `status ${status}`}`;
	if (faults.includes(signal)) return { ...noPlace, kind: "panic", message, status: exitStatus.panic };
	return { ...noPlace, kind: "killed", message, status: status ?? undefined };
}

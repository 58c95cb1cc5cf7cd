/** How a machine's process ended, and where in the firmware. */

/** Exit status of the process by kind of end; `enum reason` in machine.h. */
const exitStatus = {
	quit: 0,
	exception: 10,
	rejection: 11,
	out_of_memory: 12,
	watchdog: 13,
	restart: 14,
	bad_program: 15,
} as const;

export interface Exit {
	/**
	 * quit: switched off, also by close(). restart: by the firmware. exception: not caught. rejection: of a promise, not handled
	 * at the end of the turn. out_of_memory: see pool. watchdog: a turn did not end. bad_program: it cannot be loaded or
	 * preloaded. killed: the process ended without a report, see message.
	 */
	kind: keyof typeof exitStatus | "killed";
	message: string;
	/** Exit status of the process, different for each kind; undefined if a signal ended it, as close() does. */
	status: number | undefined;
	/** out_of_memory: "chunk", "slot", "stack" or "keys" of the device; "host" if this computer has none left. */
	pool: string | undefined;
	/** The TypeScript file, relative to the project. */
	file: string | undefined;
	/** From 1. */
	line: number | undefined;
	/** Lines of "at function (file:line)", innermost first; may be empty. */
	stack: string;
}

/** For an end without a place in the firmware. */
export const noPlace = {
	status: undefined,
	pool: undefined,
	file: undefined,
	line: undefined,
	stack: "",
} as const;

/** @returns one line for people: what happened, and where */
export function describeExit(exit: Exit): string {
	const place = exit.file === undefined ? "" : ` (${exit.file}:${exit.line})`;
	return `${exit.kind}: ${exit.message}${place}`;
}

/** @param header of an exit frame: JSON */
export function exitFrom(header: string): Exit {
	const exit: { kind: keyof typeof exitStatus; message: string; pool?: string; stack?: string } =
		JSON.parse(header);
	const stack = exit.stack ?? "";
	// The place in the firmware, rather than in a module of the host that it called.
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

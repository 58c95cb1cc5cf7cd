/**
 * RTC memory of a board: the last crash and the last traced lines. Survives a restart and a brown-out, but not a power cut.
 */

import { randomBytes } from "node:crypto";
import type { Crash, CrashKind } from "../../../device/protocol/messages.js";
import type { Exit } from "./exit.js";
import { asPlainText, TraceLines } from "./trace-lines.js";

/** Limits of hosts/esp32/board-crash.c. */
const longestMessage = 255;
const longestStack = 511;

/** Crash kind by exit kind, with the distinctions that a board can make. */
const kinds: Readonly<Partial<Record<Exit["kind"], CrashKind>>> = {
	exception: "exception",
	rejection: "rejection",
	out_of_memory: "out_of_memory",
	watchdog: "watchdog",
	panic: "panic",
	killed: "panic",
	bad_program: "panic",
};

/** Firmware run that has ended. */
export interface EndedRun {
	readonly version: string;
	readonly uptimeMs: number;
}

export class RtcMemory {
	#crash: Crash | undefined;
	#trace = new TraceLines();

	get crash(): Crash | undefined {
		return this.#crash;
	}

	/** Trace output since the start of the firmware. */
	get trace(): TraceLines {
		return this.#trace;
	}

	clearCrash(): void {
		this.#crash = undefined;
	}

	/** Stores a crash, if any, and clears the trace for the next run. */
	onEnd(exit: Pick<Exit, "kind" | "message" | "file" | "line" | "stack">, run: EndedRun): void {
		const kind = kinds[exit.kind];
		if (kind) this.#keep(kind, exit, run);
		this.#trace = new TraceLines();
	}

	/** Stores a brown-out: the supply voltage fell too low for the firmware, but not low enough to lose this memory. */
	onBrownOut(run: EndedRun): void {
		this.#keep("brown_out", { message: "supply voltage too low", stack: "" }, run);
		this.#trace = new TraceLines();
	}

	#keep(
		kind: CrashKind,
		{ message, file, line, stack }: Pick<Exit, "message" | "stack"> & Partial<Pick<Exit, "file" | "line">>,
		{ version, uptimeMs }: EndedRun,
	): void {
		this.#crash = {
			id: randomBytes(4).toString("hex"),
			kind,
			message: asPlainText(message).slice(0, longestMessage),
			...(file !== undefined && { file }),
			...(line !== undefined && { line }),
			stack: asPlainText(stack).slice(0, longestStack),
			firmware_version: version,
			uptime_seconds: Math.floor(uptimeMs / 1000),
			trace: this.#trace.all,
		};
	}
}

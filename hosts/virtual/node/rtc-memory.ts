/**
 * What a board keeps in its RTC memory: the last crash and the last lines that were traced. It survives a restart and a brown-out,
 * but no power cut.
 */

import { randomBytes } from "node:crypto";
import type { Crash, CrashKind } from "../../../device/protocol/messages.js";
import type { Exit } from "./exit.js";
import { asPlainText, TraceLines } from "./trace-lines.js";

/** As on a board (hosts/esp32/board-crash.c). */
const longestMessage = 255;
const longestStack = 511;

/** Kinds of ends that a board does not distinguish either. */
const kinds: Readonly<Partial<Record<Exit["kind"], CrashKind>>> = {
	exception: "exception",
	rejection: "rejection",
	out_of_memory: "out_of_memory",
	watchdog: "watchdog",
	panic: "panic",
	killed: "panic",
	bad_program: "panic",
};

/** A firmware that ended. */
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

	/** Since the start of the firmware. */
	get lineCount(): number {
		return this.#trace.lineCount;
	}

	clearCrash(): void {
		this.#crash = undefined;
	}

	/** The firmware traced a text. */
	write(text: string): void {
		this.#trace.write(text);
	}

	/** @returns the newest `count` complete lines, as many of them as are kept */
	read(count: number): string {
		return this.#trace.read(count);
	}

	/** The firmware ended, and the device restarts: a crash is stored, and the trace starts afresh. */
	onEnd(exit: Pick<Exit, "kind" | "message" | "file" | "line" | "stack">, run: EndedRun): void {
		const kind = kinds[exit.kind];
		if (kind) this.#keep(kind, exit, run);
		this.#restart();
	}

	/** The supply voltage fell too low for the firmware to run, and not low enough to lose this memory. */
	onBrownOut(run: EndedRun): void {
		this.#keep("brown_out", { message: "the supply voltage was too low", stack: "" }, run);
		this.#restart();
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

	#restart(): void {
		this.#trace = new TraceLines();
	}
}

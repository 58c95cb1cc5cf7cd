/**
 * What a board keeps in its RTC memory: the last crash and the last lines that were traced. It survives a restart and a brown-out,
 * but no power cut.
 */

import { randomBytes } from "node:crypto";
import type { Crash, CrashKind } from "../../../device/protocol/messages.js";
import type { Exit } from "./exit.js";

/** As on a board (hosts/esp32/board-crash.c). */
const traceBytes = 2000;
const longestMessage = 255;
const longestStack = 511;

/** Kinds of ends that a board cannot tell apart either. */
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
	/** Complete lines. */
	#trace = "";
	#incomplete = "";
	#lineCount = 0;

	get crash(): Crash | undefined {
		return this.#crash;
	}

	/** Since the start of the firmware. */
	get lineCount(): number {
		return this.#lineCount;
	}

	clearCrash(): void {
		this.#crash = undefined;
	}

	/** The firmware traced a text. */
	write(text: string): void {
		const lines = `${this.#incomplete}${asPlainText(text)}`.split("\n");
		this.#incomplete = (lines.pop() ?? "").slice(-traceBytes);
		if (lines.length === 0) return;
		this.#lineCount += lines.length;
		this.#trace = lastLines(`${this.#trace}${lines.join("\n")}\n`);
	}

	/** @returns the newest `count` complete lines, as many of them as are kept */
	read(count: number): string {
		const lines = this.#trace.split("\n").slice(0, -1);
		return lines
			.slice(Math.max(0, lines.length - count))
			.map((line) => `${line}\n`)
			.join("");
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
			trace: this.#trace,
		};
	}

	#restart(): void {
		this.#trace = "";
		this.#incomplete = "";
		this.#lineCount = 0;
	}
}

/** In ASCII, without control characters but line feeds. */
function asPlainText(text: string): string {
	return text.replaceAll(/[^\n\x20-\x7e]/g, "?");
}

function lastLines(text: string): string {
	if (text.length <= traceBytes) return text;
	// The first line is whole only if the one before it ends just there.
	const start = text.indexOf("\n", text.length - traceBytes - 1) + 1;
	return text.slice(start);
}

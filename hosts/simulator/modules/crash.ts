/** Last crash, kept by the panel across the restart, and last traced lines. */

import config from "mc/config";
import { crashKind, locationIn, stackOverflow } from "moddable/abort-report";
import type { Panel, PanelOptions } from "simulator/panel";
import { asPlainText, TraceLines } from "virtual/trace-lines";
import type { CrashMemory as CrashInterface, TraceMemory as TraceInterface } from "../../../device/host.js";
import type { Crash, CrashKind } from "../../../device/protocol/messages.js";

/** Limits of device/protocol/messages.ts. */
const longestMessage = 512;
const longestStack = 1024;

/** Details from XS's abort hook. */
export interface AbortNote {
	readonly kind: CrashKind;
	readonly message: string;
	readonly stack: string;
}

/** Abort of the firmware, recorded by the panel. */
export interface EndedRun {
	/** Identifier in hexadecimal. */
	readonly id: string;
	/** XS abort reason (xsError.c, gXSAbortStrings). */
	readonly reason: string;
	/** Undefined if the heap had no room for it. */
	readonly note?: AbortNote;
	/** Last trace output; the first line may be truncated. */
	readonly trace: string;
	readonly uptimeMs: number;
}

export class CrashMemory implements CrashInterface {
	readonly #panel: Panel;
	#crash: Crash | undefined;

	constructor({ panel, boot }: PanelOptions) {
		this.#panel = panel;
		this.#crash = boot.ended && crashOf(boot.ended);
	}

	read(): Crash | undefined {
		return this.#crash;
	}

	clear(): void {
		this.#crash = undefined;
		this.#panel.post({ isCrashCleared: true });
	}
}

function crashOf({ id, reason, note, trace, uptimeMs }: EndedRun): Crash {
	const { kind, message, stack } = note ?? {
		kind: crashKind(reason),
		// If the heap has no room for the hook call, XS recurses until the stack overflows.
		message: reason === stackOverflow ? `${reason}, or heap completely full` : reason,
		stack: "",
	};
	const lines = new TraceLines();
	lines.write(trace);
	return {
		id,
		kind,
		message: asPlainText(message).slice(0, longestMessage),
		...locationIn(stack),
		stack: asPlainText(stack).slice(0, longestStack),
		firmware_version: String(config.version ?? "0.0.0"),
		uptime_seconds: Math.floor(uptimeMs / 1000),
		trace: lines.all,
	};
}

export class TraceMemory implements TraceInterface {
	readonly #lines: TraceLines;

	constructor({ lines }: { readonly lines: TraceLines }) {
		this.#lines = lines;
	}

	get lineCount(): number {
		return this.#lines.lineCount;
	}

	read(count: number): string {
		return this.#lines.read(count);
	}
}

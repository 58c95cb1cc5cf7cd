/**
 * Crash reports and the live log, sent only on request: an older gateway would count them as invalid. Secret settings
 * are masked in both.
 */

import Timer from "timer";
import type { CrashMemory, TraceMemory } from "./host.js";
import { type CommandOf, type Crash, type CrashReport, crash, type LogMessage } from "./protocol/messages.js";
import { matches } from "./protocol/schema.js";

const periodMs = 1_000;

export interface DiagnosticsOptions {
	readonly deviceId: string;
	readonly crash: CrashMemory;
	readonly trace: TraceMemory;
	/** Texts to mask; empty ones are ignored. */
	readonly secrets: readonly string[];
	/** Monotonic, in milliseconds. */
	readonly now: () => number;
	/** Whether a message would be sent at once. */
	readonly canSend: () => boolean;
	readonly send: (message: CrashReport | LogMessage) => void;
}

export class Diagnostics {
	readonly #options: DiagnosticsOptions;
	#timer: Timer | undefined;
	#endsAt = 0;
	#sequence = 0;
	/** Lines traced before the next message. */
	#lineCount = 0;

	constructor(options: DiagnosticsOptions) {
		this.#options = options;
	}

	reportCrash(): void {
		const { deviceId, send } = this.#options;
		const last = this.#lastCrash();
		send({ type: "crash_report", deviceId, ...(last && { crash: this.#masked(last) }) });
	}

	/** @param id of the crash that the gateway has stored */
	clearCrash(id: string): void {
		if (this.#lastCrash()?.id === id) this.#options.crash.clear();
	}

	/** Starts the live log with the stored lines, or ends it. */
	setLog({ level, seconds }: CommandOf<"set_log">): void {
		this.stopLog();
		if (level === "off" || seconds === 0) return;
		const { now, trace } = this.#options;
		this.#endsAt = now() + seconds * 1000;
		this.#sequence = 0;
		this.#lineCount = trace.lineCount;
		this.#sendLines(this.#lineCount);
		this.#timer = Timer.repeat(() => this.#onTick(), periodMs);
	}

	/** Ends the live log, if there is one. */
	stopLog(): void {
		Timer.clear(this.#timer);
		this.#timer = undefined;
	}

	#onTick(): void {
		const { now, trace, canSend } = this.#options;
		const { lineCount } = trace;
		// On a slow connection lines wait until newer ones replace them.
		if (lineCount !== this.#lineCount && canSend()) {
			const added = lineCount - this.#lineCount;
			this.#lineCount = lineCount;
			this.#sendLines(added);
		}
		if (now() >= this.#endsAt) this.stopLog();
	}

	#sendLines(count: number): void {
		const { deviceId, trace, send } = this.#options;
		const kept = trace.read(count);
		const dropped = this.#sequence === 0 ? 0 : count - countLines(kept);
		send({ type: "log", deviceId, seq: this.#sequence, dropped, lines: this.#mask(kept) });
		this.#sequence += 1;
	}

	#lastCrash(): Crash | undefined {
		const last = this.#options.crash.read();
		return matches(crash, last) ? last : undefined;
	}

	#masked(last: Crash): Crash {
		const { message, stack, trace } = last;
		return { ...last, message: this.#mask(message), stack: this.#mask(stack), trace: this.#mask(trace) };
	}

	#mask(text: string): string {
		// Never longer than before, so that it fits the message.
		return this.#options.secrets.reduce(
			(masked, secret) => (secret === "" ? masked : masked.replaceAll(secret, "***".slice(0, secret.length))),
			text,
		);
	}
}

function countLines(text: string): number {
	let count = 0;
	for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
	return count;
}

/**
 * Crash reports and the live log. Both are sent only on request, since older gateways count them as invalid uplinks.
 * Secret settings are masked.
 */

import Timer from "timer";
import type { CommandOutcome, Component } from "./component.js";
import type { ComponentDefinition, Core } from "./firmware.js";
import type { CrashMemory, TraceMemory } from "./host.js";
import { type Command, type CommandOf, type Crash, crash } from "./protocol/messages.js";
import { matches } from "./protocol/schema.js";

const periodMs = 1_000;
const secretSettings = Object.freeze(["token", "password", "password2", "ca"] as const);

export const diagnostics: ComponentDefinition = Object.freeze({
	features: Object.freeze(["crash", "log"] as const),
	create: (core: Core) => new Diagnostics(core),
});

class Diagnostics implements Component {
	readonly #core: Core;
	readonly #crash: CrashMemory;
	readonly #trace: TraceMemory;
	readonly #secrets: readonly string[];
	#timer: Timer | undefined;
	#endsAt = 0;
	#sequence = 0;
	/** Lines traced when the last message was sent. */
	#lineCount = 0;

	constructor(core: Core) {
		this.#core = core;
		this.#crash = new core.host.crash({});
		this.#trace = new core.host.trace({});
		this.#secrets = secretSettings.map((name) => core.settings.text(name)).filter((secret) => secret !== "");
	}

	execute(command: Command): CommandOutcome {
		switch (command.command) {
			case "query_crash":
				this.#reportCrash();
				return "executed";
			case "clear_crash":
				// The gateway has stored this crash; a newer one stays.
				if (this.#lastCrash()?.id === command.id) this.#crash.clear();
				return "executed";
			case "set_log":
				this.#setLog(command);
				return "executed";
			default:
				return undefined;
		}
	}

	onDisconnected(): void {
		this.#stopLog();
	}

	#reportCrash(): void {
		const { deviceId, gateway } = this.#core;
		const last = this.#lastCrash();
		gateway.send({ type: "crash_report", deviceId, ...(last && { crash: this.#masked(last) }) });
	}

	/** Starts the live log, beginning with the stored lines, or stops it. */
	#setLog({ level, seconds }: CommandOf<"set_log">): void {
		this.#stopLog();
		if (level === "off" || seconds === 0) return;
		this.#endsAt = this.#core.now() + seconds * 1000;
		this.#sequence = 0;
		this.#lineCount = this.#trace.lineCount;
		this.#sendLines(this.#lineCount);
		this.#timer = Timer.repeat(() => this.#onTick(), periodMs);
	}

	#stopLog(): void {
		Timer.clear(this.#timer);
		this.#timer = undefined;
	}

	#onTick(): void {
		const { now, gateway } = this.#core;
		const { lineCount } = this.#trace;
		// On a slow connection, lines stay in the trace memory until newer ones overwrite them.
		if (lineCount !== this.#lineCount && gateway.isDrained) {
			const added = lineCount - this.#lineCount;
			this.#lineCount = lineCount;
			this.#sendLines(added);
		}
		if (now() >= this.#endsAt) this.#stopLog();
	}

	#sendLines(count: number): void {
		const { deviceId, gateway } = this.#core;
		const kept = this.#trace.read(count);
		const dropped = this.#sequence === 0 ? 0 : count - countLines(kept);
		gateway.send({ type: "log", deviceId, seq: this.#sequence, dropped, lines: this.#mask(kept) });
		this.#sequence += 1;
	}

	#lastCrash(): Crash | undefined {
		const last = this.#crash.read();
		return matches(crash, last) ? last : undefined;
	}

	#masked(last: Crash): Crash {
		const { message, stack, trace } = last;
		return { ...last, message: this.#mask(message), stack: this.#mask(stack), trace: this.#mask(trace) };
	}

	#mask(text: string): string {
		// The replacement is never longer than the secret, so the text still fits the message.
		return this.#secrets.reduce(
			(masked, secret) => masked.replaceAll(secret, "***".slice(0, secret.length)),
			text,
		);
	}
}

function countLines(text: string): number {
	let count = 0;
	for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
	return count;
}

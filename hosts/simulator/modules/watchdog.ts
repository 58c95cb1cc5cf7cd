/** Task watchdog (watchdog.c): ends firmware that runs for 10 s of processor time without returning to the event loop. */

import { describe } from "moddable/abort-report";
import type { AbortNote } from "simulator/crash";
import Timer from "timer";

const feedIntervalMs = 1000;

export class Watchdog {
	/** Starts the watchdog. Must be constructed before the firmware starts. */
	constructor() {
		this.start();
		Timer.repeat(() => this.feed(), feedIntervalMs);
	}

	private start(): void {
		return native("xs_simulator_watchdog_start").call(this);
	}

	private feed(): void {
		return native("xs_simulator_watchdog_feed").call(this);
	}
}

/** Describes the hanging code. Must be called in the abort hook, which XS calls on the stack of that code. */
export function describeHang(): AbortNote {
	const { stack } = describe(new Error());
	const frames = stack.slice(stack.indexOf("\n", stack.indexOf("at abort ")) + 1);
	return { kind: "watchdog", message: "task watchdog timeout", stack: frames };
}

/**
 * When the device says what it is: every 5 s, after each change at the end of the same turn, and when asked. While a report
 * still waits for the network no second one is queued behind it: the next one to go out is the newest.
 */

import Timer from "timer";
import type { StateReport } from "./protocol/messages.js";

const periodMs = 5_000;

export interface StateReporterOptions {
	/** Reads the whole state, now. */
	readonly read: () => StateReport;
	/** Whether a message goes out at once. */
	readonly canSend: () => boolean;
	readonly send: (report: StateReport) => void;
}

export class StateReporter {
	readonly #options: StateReporterOptions;
	#isDue = false;
	#isScheduled = false;
	#hasReported = false;
	#timer: Timer | undefined;

	constructor(options: StateReporterOptions) {
		this.#options = options;
	}

	/** Whether a report was sent on the connection that is open. */
	get hasReported(): boolean {
		return this.#hasReported;
	}

	/** The connection is open: reports now and every 5 s. */
	start(): void {
		Timer.clear(this.#timer);
		this.#timer = Timer.repeat(() => this.changed(), periodMs);
		this.changed();
	}

	/** The connection is gone. */
	stop(): void {
		Timer.clear(this.#timer);
		this.#timer = undefined;
		this.#isDue = false;
		this.#hasReported = false;
	}

	/** Something to report: it goes out at the end of this turn, however much else changes in it. */
	changed(): void {
		if (!this.#timer) return;
		this.#isDue = true;
		if (this.#isScheduled) return;
		this.#isScheduled = true;
		Promise.resolve()
			.then(() => {
				this.#isScheduled = false;
				this.flush();
			})
			.catch((error: unknown) => trace(`state report: ${error}\n`));
	}

	/** Sends what is due, where it can go out at once; the link says when it can again. */
	flush(): void {
		if (!this.#isDue || !this.#options.canSend()) return;
		this.#isDue = false;
		this.#hasReported = true;
		this.#options.send(this.#options.read());
	}
}

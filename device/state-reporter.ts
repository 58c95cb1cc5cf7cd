/**
 * Sends state reports: every 5 s, on request, and at the end of each turn with changes. At most one report waits for
 * the network; it is built when it is sent.
 */

import Timer from "timer";
import type { CommandOutcome, Component } from "./component.js";
import type { Command } from "./protocol/messages.js";
import { type ReportSources, readState } from "./state-report.js";

const periodMs = 5_000;

export interface StateReporterOptions extends ReportSources {
	readonly onSent: () => void;
}

export class StateReporter implements Component {
	/** Whether a report was sent on this connection. */
	hasReported = false;
	readonly #options: StateReporterOptions;
	#isDue = false;
	#isScheduled = false;
	#timer: Timer | undefined;

	constructor(options: StateReporterOptions) {
		this.#options = options;
	}

	execute({ command }: Command): CommandOutcome {
		if (command !== "query_state") return undefined;
		this.changed();
		return "executed";
	}

	onConnected(): void {
		Timer.clear(this.#timer);
		this.#timer = Timer.repeat(() => this.changed(), periodMs);
		this.changed();
	}

	onDisconnected(): void {
		Timer.clear(this.#timer);
		this.#timer = undefined;
		this.#isDue = false;
		this.hasReported = false;
	}

	/** Schedules a report for the end of this turn. */
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

	/** Sends the report if one is due and it can be sent immediately. */
	flush(): void {
		const { link, onSent } = this.#options;
		if (!this.#isDue || !link.isDrained) return;
		this.#isDue = false;
		this.hasReported = true;
		link.send(readState(this.#options));
		onSent();
	}
}

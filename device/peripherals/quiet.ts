/**
 * Quiet hours: limits volume and brightness while the clock is in one of the periods. They are stored, so they apply
 * after a restart and without a gateway.
 */

import Timer from "timer";
import { type CompleteReport, type QuietHours, quietHours } from "../protocol/messages.js";
import { parseAs } from "../protocol/schema.js";
import type { Settings } from "../settings.js";

/** Polling interval: simpler than a timer for the next period, and right for a clock that drifts. */
const checkIntervalMs = 1_000;

export interface QuietOptions {
	readonly settings: Pick<Settings, "remembered" | "remember">;
	/** @param hours whose limits apply from now on; undefined: none */
	readonly onLimits: (hours: QuietHours | undefined) => void;
	/** Called when the report changed. */
	readonly onChanged: () => void;
}

export class Quiet {
	readonly #options: QuietOptions;
	#hours: QuietHours | undefined;
	/** End of the current period, in Unix seconds. */
	#until: number | undefined;
	#timer: Timer | undefined;

	/** Loads the stored quiet hours. */
	constructor(options: QuietOptions) {
		this.#options = options;
		const hours = parseAs(quietHours, options.settings.remembered("quiet"));
		if (hours) this.#use(hours);
	}

	get report(): CompleteReport["quiet"] {
		const until = this.#until === undefined ? undefined : new Date(this.#until * 1000).toISOString();
		return this.#hours && { id: this.#hours.id, until };
	}

	/** Replaces and stores the quiet hours. @param hours null: removes them */
	set(hours: QuietHours | null): void {
		this.#options.settings.remember("quiet", hours ? JSON.stringify(hours) : "");
		this.#use(hours ?? undefined);
	}

	/** Applies the limits of the current time. @param isNew whether the quiet hours were replaced */
	check(isNew = false): void {
		const now = Date.now() / 1000;
		const until = this.#hours?.periods.find((period) => period.from <= now && now < period.until)?.until;
		if (until === this.#until && !isNew) return;
		this.#until = until;
		this.#options.onLimits(until === undefined ? undefined : this.#hours);
		this.#options.onChanged();
	}

	#use(hours: QuietHours | undefined): void {
		this.#hours = hours;
		Timer.clear(this.#timer);
		this.#timer = hours && Timer.repeat(() => this.check(), checkIntervalMs);
		this.check(true);
	}
}

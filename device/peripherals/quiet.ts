/**
 * Quiet hours: while the clock is in one of their periods, they limit what is heard and seen. They are stored, so they hold
 * after a restart and without a gateway.
 */

import Timer from "timer";
import { type CompleteReport, type QuietHours, quietHours } from "../protocol/messages.js";
import { matches } from "../protocol/schema.js";

/** The clock may be corrected at any time, so it is compared instead of waiting for a period's begin or end. */
const checkIntervalMs = 1_000;

export interface QuietOptions {
	readonly settings: {
		remembered(name: "quiet"): string;
		remember(name: "quiet", text: string): void;
	};
	/** @param hours whose limits hold from now on; undefined: none */
	readonly onLimits: (hours: QuietHours | undefined) => void;
	/** The report has changed. */
	readonly onChanged: () => void;
}

export class Quiet {
	readonly #options: QuietOptions;
	#hours: QuietHours | undefined;
	/** In Unix seconds: the end of the period that holds. */
	#until: number | undefined;
	#timer: Timer | undefined;

	/** Begins with the stored ones. */
	constructor(options: QuietOptions) {
		this.#options = options;
		const hours = parse(options.settings.remembered("quiet"));
		if (hours) this.#use(hours);
	}

	get report(): CompleteReport["quiet"] {
		const until = this.#until === undefined ? undefined : new Date(this.#until * 1000).toISOString();
		return this.#hours && { id: this.#hours.id, until };
	}

	/** Stores them in the place of the previous ones. @param hours null: there are none */
	set(hours: QuietHours | null): void {
		this.#options.settings.remember("quiet", hours ? JSON.stringify(hours) : "");
		this.#use(hours ?? undefined);
	}

	#use(hours: QuietHours | undefined): void {
		this.#hours = hours;
		Timer.clear(this.#timer);
		this.#timer = hours && Timer.repeat(() => this.#limit(false), checkIntervalMs);
		this.#limit(true);
	}

	/** @param isNew whether others held until now */
	#limit(isNew: boolean): void {
		const now = Date.now() / 1000;
		const until = this.#hours?.periods.find((period) => period.from <= now && now < period.until)?.until;
		if (until === this.#until && !isNew) return;
		this.#until = until;
		this.#options.onLimits(until === undefined ? undefined : this.#hours);
		this.#options.onChanged();
	}
}

function parse(text: string): QuietHours | undefined {
	try {
		const hours: unknown = JSON.parse(text);
		return matches(quietHours, hours) ? hours : undefined;
	} catch {
		// There are none.
		return undefined;
	}
}

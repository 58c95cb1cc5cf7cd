/** Clock of rollouts: wall-clock time that ignores changes of the system clock. */

import { periodsOf } from "../api/local-times.js";
import type { Rollout } from "../api/rollout.js";
import type { Base } from "../base.js";
import { settleMs, type Timing } from "./device-step.js";

interface RolloutClockOptions extends Pick<Base, "now" | "monotonic"> {
	/** Whether other gateways execute the same rollouts. */
	readonly isShared: boolean;
}

export class RolloutClock {
	readonly #options: RolloutClockOptions;
	/** Milliseconds since 1970 at 0 of the monotonic clock. */
	#origin: number;

	constructor(options: RolloutClockOptions) {
		this.#options = options;
		this.#origin = options.now() - options.monotonic();
	}

	/** Returns whole milliseconds since 1970. */
	now(): number {
		return Math.round(this.#origin + this.#options.monotonic());
	}

	/**
	 * Advances to the latest step of active rollouts, as an earlier clock would prolong soak times.
	 * @returns time of that step
	 */
	catchUp(active: Iterable<Rollout>): number {
		let latest: number | undefined;
		for (const { devices } of active)
			for (const { at } of devices.values()) latest = Math.max(latest ?? at, at);
		if (latest !== undefined) this.#origin = Math.max(this.#origin, latest - this.#options.monotonic());
		return latest ?? this.now();
	}

	/** Returns the current time and whether a rollout may start updates. */
	timingOf({ head, plan: { startsAt, deadline, window } }: Rollout): Timing {
		const wall = this.#options.now();
		return {
			now: this.now(),
			isDue: head.startedAt !== undefined || wall >= Date.parse(startsAt),
			isOpen:
				!window || periodsOf({ ...window, until: window.to }, window.timeZone, wall, wall + 1).length > 0,
			isLate: deadline !== undefined && wall >= Date.parse(deadline),
			graceMs: this.#options.isShared ? settleMs : 0,
		};
	}
}

/**
 * Detects crash loops: counts starts that crash within 60 s without reaching the gateway. After three in a row the next
 * start is in safe mode, with only what an update needs, so that a crashing image can be replaced.
 */

import Timer from "timer";
import { attempt } from "./attempt.js";
import type { KeyValueStore } from "./host.js";

const stableAfterMs = 60_000;
const maxFailures = 3;
const key = "starts";
const traceName = "crash loop detection";

/**
 * Reset reasons that count as a crash. An XS exception restarts with SW_RESET; so does an intended restart, but after
 * markStable(). The loudspeaker or motor may cause a brown-out. All other resets are caused by people.
 */
const faults: readonly string[] = Object.freeze([
	"SW_RESET",
	"PANIC_RESET",
	"INT_WDT_RESET",
	"TASK_WDT_RESET",
	"WDT_RESET",
	"BROWNOUT_RESET",
	"CPU_LOCKUP_RESET",
]);

export interface StartCountOptions {
	readonly store: Pick<KeyValueStore, "read" | "write" | "delete">;
	readonly resetReason: string;
	/** An unconfirmed image is rolled back instead, and must prove itself with all its parts. */
	readonly isPendingVerify: boolean;
}

export class StartCount {
	/** Whether the three previous starts failed. */
	readonly isSafeMode: boolean;
	readonly #store: StartCountOptions["store"];
	#timer: Timer | undefined;

	/** Counts this start as failed until markStable(). */
	constructor({ store, resetReason, isPendingVerify }: StartCountOptions) {
		this.#store = store;
		const counted = Number(store.read(key) ?? "0") || 0;
		// The previous start counts as failed only after a fault.
		const failures = faults.includes(resetReason) ? counted : Math.max(0, counted - 1);
		this.isSafeMode = failures >= maxFailures && !isPendingVerify;
		const counting = Math.min(failures, maxFailures) + 1;
		// If flash cannot be written, the device works without safe mode.
		if (counting !== counted) attempt(traceName, () => store.write(key, String(counting)));
		this.#timer = Timer.set(() => this.markStable(), stableAfterMs);
	}

	/** Resets the count: the gateway is connected, 60 s have passed, or the firmware restarts on purpose. */
	markStable(): void {
		if (!this.#timer) return;
		Timer.clear(this.#timer);
		this.#timer = undefined;
		attempt(traceName, () => this.#store.delete(key));
	}
}

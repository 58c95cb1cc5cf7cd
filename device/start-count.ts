/**
 * Counts starts that end early by a fault, for the safe mode: a confirmed image that crashes at each start could never be
 * replaced. After three starts in a row that crashed within 60 s without a connection, the next one leaves out what an update does
 * not need.
 */

import Timer from "timer";
import type { KeyValueStore } from "./host.js";

const provenAfterMs = 60_000;
const mostFailures = 3;
const key = "starts";

/**
 * Reset reasons of a fault. An exception of XS restarts with SW_RESET, as a restart does that the firmware wants: before that it
 * calls onProven(). A brown-out counts, since the loudspeaker or the motor may cause it. All others are a person's doing.
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
	/** Why this start began. */
	readonly resetReason: string;
	/** A new image has the rollback for this, and must not be confirmed with its parts left out. */
	readonly isPendingVerify: boolean;
}

export class StartCount {
	/** Whether the three starts before this one failed. */
	readonly isSafeMode: boolean;
	readonly #store: StartCountOptions["store"];
	#timer: Timer | undefined;

	/** Counts this start as failed until it has proven itself: at most one write, and one more then. */
	constructor({ store, resetReason, isPendingVerify }: StartCountOptions) {
		this.#store = store;
		const counted = Number(store.read(key) ?? "0") || 0;
		// The start before was counted, but only a fault makes it a failure.
		const failures = faults.includes(resetReason) ? counted : Math.max(0, counted - 1);
		this.isSafeMode = failures >= mostFailures && !isPendingVerify;
		const counting = Math.min(failures, mostFailures) + 1;
		if (counting !== counted) this.#attempt(() => store.write(key, String(counting)));
		this.#timer = Timer.set(() => this.onProven(), provenAfterMs);
	}

	/** The gateway is connected, 60 s have passed, or the firmware itself restarts the device. */
	onProven(): void {
		if (!this.#timer) return;
		Timer.clear(this.#timer);
		this.#timer = undefined;
		this.#attempt(() => this.#store.delete(key));
	}

	/** Without flash there is no safe mode, but the device works. */
	#attempt(action: () => void): void {
		try {
			action();
		} catch (error) {
			trace(`starts: ${error}\n`);
		}
	}
}

/**
 * Counts starts that crash within 60 s without a connection. After three in a row the next one is in safe mode, without
 * what an update does not need: otherwise such an image could never be replaced.
 */

import Timer from "timer";
import type { KeyValueStore } from "./host.js";

const provenAfterMs = 60_000;
const mostFailures = 3;
const key = "starts";

/**
 * Reset reasons of a fault. An XS exception restarts with SW_RESET, as does an intended restart, after onProven().
 * The loudspeaker or motor may cause a brown-out. People cause all others.
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
	/** A new image has the rollback instead, and is confirmed with all its parts. */
	readonly isPendingVerify: boolean;
}

export class StartCount {
	/** Whether the three previous starts failed. */
	readonly isSafeMode: boolean;
	readonly #store: StartCountOptions["store"];
	#timer: Timer | undefined;

	/** Counts this start as failed until it is proven. */
	constructor({ store, resetReason, isPendingVerify }: StartCountOptions) {
		this.#store = store;
		const counted = Number(store.read(key) ?? "0") || 0;
		// The previous start counts as failed only after a fault.
		const failures = faults.includes(resetReason) ? counted : Math.max(0, counted - 1);
		this.isSafeMode = failures >= mostFailures && !isPendingVerify;
		const counting = Math.min(failures, mostFailures) + 1;
		if (counting !== counted) this.#attempt(() => store.write(key, String(counting)));
		this.#timer = Timer.set(() => this.onProven(), provenAfterMs);
	}

	/** The gateway is connected, 60 s have passed, or the firmware restarts. */
	onProven(): void {
		if (!this.#timer) return;
		Timer.clear(this.#timer);
		this.#timer = undefined;
		this.#attempt(() => this.#store.delete(key));
	}

	/** Without flash the device works without safe mode. */
	#attempt(action: () => void): void {
		try {
			action();
		} catch (error) {
			trace(`starts: ${error}\n`);
		}
	}
}

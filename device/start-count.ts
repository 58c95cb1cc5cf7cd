/**
 * Counts starts that end early, for the safe mode: a confirmed image that crashes at each start could never be replaced. After
 * three starts in a row that ended within 60 s without a connection, the next one leaves out what an update does not need.
 */

import Timer from "timer";
import type { KeyValueStore } from "./host.js";

const provenAfterMs = 60_000;
const mostFailures = 3;
const key = "starts";

export class StartCount {
	/** Whether the three starts before this one failed. */
	readonly isSafeMode: boolean;
	readonly #store: KeyValueStore;
	#timer: Timer | undefined;

	/**
	 * Counts this start as failed until it has proven itself: at most one write, and one more then.
	 *
	 * @param isPendingVerify a new image has the rollback for this, and must not be confirmed with its parts left out
	 */
	constructor(store: KeyValueStore, isPendingVerify: boolean) {
		this.#store = store;
		const failures = Number(store.read(key) ?? "0") || 0;
		this.isSafeMode = failures >= mostFailures && !isPendingVerify;
		if (failures < mostFailures) this.#attempt(() => store.write(key, String(failures + 1)));
		this.#timer = Timer.set(() => this.onProven(), provenAfterMs);
	}

	/** The gateway is connected, or 60 s have passed. */
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

/**
 * A new image on probation. Confirmed at its start, one that cannot reach the gateway would stay for ever, and no further
 * update could reach it; so it has to do once what a device is for, within two minutes, or the former image comes back.
 */

import Timer from "timer";
import type { BootState } from "../host.js";

const limitMs = 120_000;

export interface ProbationOptions {
	readonly boot: BootState;
	/** The boot loader starts the former image where this one is not confirmed. */
	readonly restart: () => void;
}

export class Probation {
	readonly #options: ProbationOptions;
	#timer: Timer | undefined;

	constructor(options: ProbationOptions) {
		this.#options = options;
		if (options.boot.isPendingVerify) this.#timer = Timer.set(() => this.#giveUp(), limitMs);
	}

	/** Until it ends no update can begin. */
	get isOn(): boolean {
		return this.#timer !== undefined;
	}

	/** The image has proven itself: the gateway accepted it, its report is out, its parts answer. */
	pass(): void {
		// Where flash does not take it, the next report tries again.
		if (!this.isOn || !this.#options.boot.confirm()) return;
		Timer.clear(this.#timer);
		this.#timer = undefined;
	}

	#giveUp(): void {
		this.#timer = undefined;
		try {
			this.#options.boot.rollBack();
		} finally {
			this.#options.restart();
		}
	}
}

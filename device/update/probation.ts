/**
 * Confirms a new image (in ESP-IDF: cancels the rollback) once it has reached the gateway, or rolls back after two
 * minutes, since an image that cannot reach the gateway could never be updated.
 */

import Timer from "timer";
import type { BootState } from "../host.js";
import type { Settings } from "../settings.js";

const limitMs = 120_000;

export interface ProbationOptions {
	readonly boot: BootState;
	/** Restarts; unless this image is confirmed, the boot loader then starts the previous one. */
	readonly restart: () => void;
}

export class Probation {
	readonly #options: ProbationOptions;
	#timer: Timer | undefined;

	constructor(options: ProbationOptions) {
		this.#options = options;
		if (options.boot.isPendingVerify) this.#timer = Timer.set(() => this.#rollBack(), limitMs);
	}

	/** Whether the image is unconfirmed; then no update can start. */
	get isOn(): boolean {
		return this.#timer !== undefined;
	}

	/**
	 * Must be called after each report. Confirms a new image if the codec answers, or if it did not answer under the
	 * previous image, since a device with a broken codec must remain updatable.
	 */
	onReported(isCodecReady: boolean, settings: Pick<Settings, "number" | "remember">): void {
		if (this.isOn) {
			// Not stored: the codec answered, since older images were confirmed only then.
			const answeredBefore = settings.number("codec", 0, 1, 1) === 1;
			if (answeredBefore && !isCodecReady) return;
			// On failure the next report retries.
			if (!this.#options.boot.confirm()) return;
			Timer.clear(this.#timer);
			this.#timer = undefined;
		}
		// Whether the codec answered under the last confirmed image.
		settings.remember("codec", isCodecReady ? 1 : 0);
	}

	#rollBack(): void {
		this.#timer = undefined;
		try {
			this.#options.boot.rollBack();
		} finally {
			this.#options.restart();
		}
	}
}

/**
 * A new image on probation. Confirmed at its start, one that cannot reach the gateway would stay for ever, and no further
 * update could reach it; so it has to do once what a device is for, within two minutes, or the previous image comes back.
 *
 * It has to be as well as the image before it, not perfect: a codec that did not answer under the confirmed image need not
 * answer under the new one, or a device with broken hardware could never be updated again.
 */

import Timer from "timer";
import type { BootState } from "../host.js";

const limitMs = 120_000;

/** The setting that says whether the codec answered under the confirmed image: 1 or 0. */
export interface CodecSetting {
	number(name: "codec", minimum: number, maximum: number, otherwise: number): number;
	remember(name: "codec", value: number): void;
}

export interface ProbationOptions {
	readonly boot: BootState;
	/** The boot loader starts the previous image where this one is not confirmed. */
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

	/**
	 * The gateway has accepted the device, and a report is out. Confirms a new image whose codec answers, or did not answer
	 * before; under a confirmed image, whether it answers is kept for the next one.
	 */
	onReported(isCodecReady: boolean, settings: CodecSetting): void {
		if (this.isOn) {
			// Nothing kept: the confirmed image is too old to keep it, and was confirmed because its codec answered.
			const answeredBefore = settings.number("codec", 0, 1, 1) === 1;
			if (answeredBefore && !isCodecReady) return;
			// Where flash does not take it, the next report tries again.
			if (!this.#options.boot.confirm()) return;
			Timer.clear(this.#timer);
			this.#timer = undefined;
		}
		settings.remember("codec", isCodecReady ? 1 : 0);
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

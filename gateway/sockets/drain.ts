/**
 * The pace at which a gateway that stops closes its devices, and the time at which each is asked to return. Both are spread
 * over a time that grows with the number of devices, so that neither this process nor the next one handles all at once.
 */

/** Devices a second that are closed: 10,000 in 4 s. */
const closedASecond = 2500;
/** From the last close until the next process listens: devices leave, the last records are written, Node starts. */
const restartMs = 3_000;
/** No device is told to wait longer for its turn. */
const longestSpanMs = 60_000;

export interface DrainOptions {
	/** Connected ones. */
	readonly devices: number;
	/** That the next process admits from its start. */
	readonly admittedASecond: number;
	/** Monotonic clock, in milliseconds. */
	readonly monotonic: () => number;
}

export class Drain {
	readonly #monotonic: () => number;
	readonly #endsAt: number;
	readonly #spanMs: number;

	constructor({ devices, admittedASecond, monotonic }: DrainOptions) {
		this.#monotonic = monotonic;
		this.#endsAt = monotonic() + (devices / closedASecond) * 1000;
		this.#spanMs = Math.min(longestSpanMs, (devices / Math.max(1, admittedASecond)) * 1000);
	}

	/** Of an even pace. */
	devicesIn(ms: number): number {
		return (closedASecond * ms) / 1000;
	}

	/** Drawn for each device: after how many seconds it should connect again. */
	drawSeconds(): number {
		const leftMs = Math.max(0, this.#endsAt - this.#monotonic());
		return Math.round((leftMs + restartMs + Math.random() * this.#spanMs) / 1000);
	}
}

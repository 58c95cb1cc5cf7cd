/**
 * Rate at which a stopping gateway disconnects devices, and the time at which each is told to reconnect. Both are spread
 * over a period that grows with the number of devices, so that neither this process nor the next handles all at once.
 */

/** Devices/s: 10,000 in 4 s. */
const closedASecond = 2500;
/** From the last close until the next process listens. */
const restartMs = 3_000;
/** No device is asked to wait longer for its turn. */
const longestSpanMs = 60_000;

export interface DrainOptions {
	/** Connected devices. */
	readonly devices: number;
	/** Devices/s that the next process admits at its start. */
	readonly admittedASecond: number;
	/** Monotonic, in milliseconds. */
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

	/** Devices to close in this time. */
	devicesIn(ms: number): number {
		return (closedASecond * ms) / 1000;
	}

	/** Random: seconds after which a device should connect again. */
	drawSeconds(): number {
		const leftMs = Math.max(0, this.#endsAt - this.#monotonic());
		return Math.round((leftMs + restartMs + Math.random() * this.#spanMs) / 1000);
	}
}

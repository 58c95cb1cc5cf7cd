/**
 * Rate at which a stopping gateway disconnects devices, and delay after which each device reconnects. The period of both
 * is proportional to the number of devices, so that neither this process nor the next one handles all at once.
 */

/** Devices/s; 10,000 devices take 4 s. */
const closedASecond = 2500;
/** Time from the last close until the next process listens. */
const restartMs = 3_000;
/** Upper limit of the period over which reconnects are spread. */
const maxSpanMs = 60_000;

export interface DrainOptions {
	/** Number of connected devices. */
	readonly devices: number;
	/** Devices/s that the next process admits after its start. */
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
		this.#spanMs = Math.min(maxSpanMs, (devices / Math.max(1, admittedASecond)) * 1000);
	}

	/** Returns the number of devices to disconnect in this time. */
	devicesPer(ms: number): number {
		return (closedASecond * ms) / 1000;
	}

	/** Returns the number of seconds after which a device should reconnect; random within the remaining period. */
	retrySeconds(): number {
		const leftMs = Math.max(0, this.#endsAt - this.#monotonic());
		return Math.round((leftMs + restartMs + Math.random() * this.#spanMs) / 1000);
	}
}

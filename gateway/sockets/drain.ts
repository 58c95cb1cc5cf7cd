/**
 * Delay after which each device reconnects to a stopping gateway. Its period is proportional to the number of devices, so
 * that the next process does not handle all at once.
 */

/** Time until the next process listens. */
const restartMs = 3_000;
/** Upper limit of the period over which reconnects are spread. */
const maxSpanMs = 60_000;

/**
 * @param devices number of connected devices
 * @param admittedASecond devices/s that the next process admits after its start
 * @returns function that returns the number of seconds after which a device should reconnect, a random one each time
 */
export function createRetrySeconds(devices: number, admittedASecond: number): () => number {
	const spanMs = Math.min(maxSpanMs, (devices / Math.max(1, admittedASecond)) * 1000);
	return () => Math.round((restartMs + Math.random() * spanMs) / 1000);
}

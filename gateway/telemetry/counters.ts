/**
 * What the gateway has done since it started, as plain numbers that anyone may raise and whoever reports them reads.
 */

export interface Counters {
	/** Valid uplinks. */
	uplinks: number;
	/** Uplinks dropped because they were not valid. */
	invalidUplinks: number;
	/** Messages of monitors that were carried out. */
	commands: number;
	/** Messages of monitors that were answered with an error. */
	refusedCommands: number;
}

export function createCounters(): Counters {
	return { uplinks: 0, invalidUplinks: 0, commands: 0, refusedCommands: 0 };
}

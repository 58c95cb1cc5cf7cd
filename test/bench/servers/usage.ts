/** Resources used by a server process so far. */

export interface Usage {
	/** Processor time of all threads, in microseconds. */
	readonly cpuMicros: number;
	/** Resident memory in bytes. */
	readonly rss: number;
	/** JavaScript objects and buffers, in bytes. */
	readonly heap: number;
}

/** @param isSettled collects garbage first */
export function usage({ isSettled }: { readonly isSettled: boolean }): Usage {
	if (isSettled) for (let pass = 0; pass < 3; pass++) globalThis.gc?.();
	const { user, system } = process.cpuUsage();
	const { rss, heapUsed, external } = process.memoryUsage();
	return { cpuMicros: user + system, rss, heap: heapUsed + external };
}

/** What a server process has used so far; asked for before and after what is measured. */

export interface Usage {
	/** Processor time of all its threads, in microseconds. */
	readonly cpuMicros: number;
	/** In bytes, as the operating system sees it. */
	readonly rss: number;
	/** JavaScript objects and buffers, in bytes. */
	readonly heap: number;
}

/** @param isSettled collects garbage before, so that memory is what is in use */
export function usage(isSettled: boolean): Usage {
	if (isSettled) for (let pass = 0; pass < 3; pass++) globalThis.gc?.();
	const { user, system } = process.cpuUsage();
	const { rss, heapUsed, external } = process.memoryUsage();
	return { cpuMicros: user + system, rss, heap: heapUsed + external };
}

import Timer from "timer";

/** Resolves after `ms` milliseconds. */
export function pause(ms: number): Promise<void> {
	return new Promise((resolve) => Timer.set(() => resolve(), ms));
}

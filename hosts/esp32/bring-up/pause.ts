import Timer from "timer";

/** Settles after `ms` milliseconds. */
export function pause(ms: number): Promise<void> {
	return new Promise((resolve) => Timer.set(() => resolve(), ms));
}
